// Package packed reads what was packed with encoding/binary: numbers of any length, and texts
// with their length before them.
//
//	b := packed.AppendText(binary.AppendUvarint(nil, 7), "name")
//	r := packed.Reader{Left: b}
//	n, name := r.Uint(), r.Text()
//	if r.Damaged {
//		return errDamaged
//	}
package packed

import "encoding/binary"

// AppendText packs a text.
func AppendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// Reader takes values off the front of what is left. After one that can't be read it is
// damaged, and nothing is left: all values are zero from then on.
type Reader struct {
	Left    []byte
	Damaged bool
}

// Fail has the reader be damaged, by a value that can't be.
func (r *Reader) Fail() { r.Left, r.Damaged = nil, true }

// Uint reads a number that was appended with AppendUvarint.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.Left)
	r.pass(n)
	return v
}

// Int reads a number that was appended with AppendVarint.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.Left)
	r.pass(n)
	return v
}

// Text reads a text that was appended with AppendText.
func (r *Reader) Text() string {
	n := r.Uint()
	if n > uint64(len(r.Left)) {
		r.Fail()
		return ""
	}
	text := string(r.Left[:n])
	r.Left = r.Left[n:]
	return text
}

// pass goes on behind a number of so many bytes. With 0 or less there was none, and its value
// is 0.
func (r *Reader) pass(n int) {
	if n <= 0 {
		r.Fail()
		return
	}
	r.Left = r.Left[n:]
}
