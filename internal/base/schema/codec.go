package schema

import "encoding/binary"

// Codec encodes values if From is nil, and otherwise decodes them. So one function can list the fields of a stored form for
// both.
type Codec struct {
	Bytes []byte    // the encoded values
	From  *Unpacker // the values to decode; nil to encode
}

// Uint encodes or decodes a number as AppendUvarint does.
func (c *Codec) Uint(n *uint64) {
	if c.From != nil {
		*n = c.From.Uint()
		return
	}
	c.Bytes = binary.AppendUvarint(c.Bytes, *n)
}

// Int encodes or decodes a number as AppendVarint does.
func (c *Codec) Int(n *int64) {
	if c.From != nil {
		*n = c.From.Int()
		return
	}
	c.Bytes = binary.AppendVarint(c.Bytes, *n)
}

// Text encodes or decodes a text as AppendText does.
func (c *Codec) Text(text *string) {
	if c.From != nil {
		*text = c.From.Text()
		return
	}
	c.Bytes = AppendText(c.Bytes, *text)
}
