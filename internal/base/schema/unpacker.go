package schema

import (
	"encoding/binary"
	"errors"
)

// AppendText appends a text after its length.
func AppendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// Unpacker reads values from the front of Left. After a damaged value it sets Err, and all further values are zero.
type Unpacker struct {
	Left []byte // not read yet
	Err  error  // the first damage; nil if there is none
}

// Fail sets Err to a reason, unless Err is set already, and ends the reading.
func (r *Unpacker) Fail(reason string) {
	if r.Err == nil {
		r.Err = errors.New(reason)
	}
	r.Left = nil
}

// Byte reads one byte.
func (r *Unpacker) Byte() byte {
	if b := r.readBytes(1); len(b) > 0 {
		return b[0]
	}
	return 0
}

// Uint reads a number written by AppendUvarint.
func (r *Unpacker) Uint() uint64 {
	v, n := binary.Uvarint(r.Left)
	r.skipNumber(n)
	return v
}

// Int reads a number written by AppendVarint.
func (r *Unpacker) Int() int64 {
	v, n := binary.Varint(r.Left)
	r.skipNumber(n)
	return v
}

// Text reads a text that was appended with AppendText.
func (r *Unpacker) Text() string { return string(r.readBytes(r.Uint())) }

func (r *Unpacker) readBytes(n uint64) []byte {
	if n > uint64(len(r.Left)) {
		r.Fail("it ends too soon")
		return nil
	}
	b := r.Left[:n]
	r.Left = r.Left[n:]
	return b
}

// skipNumber skips the n bytes of a number; an n of 0 or less is a damaged number.
func (r *Unpacker) skipNumber(n int) {
	if n <= 0 {
		r.Fail("a number in it can't be read")
		return
	}
	r.Left = r.Left[n:]
}
