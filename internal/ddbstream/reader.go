package ddbstream

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// reader walks JSON in data. Readers are pooled, since one is needed for each
// look into an image.
type reader struct {
	data []byte
	buf  bytes.Buffer
	dec  *jsontext.Decoder
}

var readers = sync.Pool{New: func() any {
	return &reader{dec: jsontext.NewDecoder(new(bytes.Buffer))}
}}

func open(data []byte) *reader {
	r := readers.Get().(*reader)
	r.data = data
	r.buf = *bytes.NewBuffer(data)
	r.dec.Reset(&r.buf, jsontext.AllowInvalidUTF8(true))
	return r
}

// close gives the reader back without its hold on the data.
func (r *reader) close() {
	r.data, r.buf = nil, bytes.Buffer{}
	r.dec.Reset(&r.buf)
	readers.Put(r)
}

// is reports whether the next value is of this kind.
func (r *reader) is(kind jsontext.Kind) bool { return r.dec.PeekKind() == kind }

// value reads the next value whole. It is a part of data, so that it stays valid
// when the reader goes on.
func (r *reader) value() ([]byte, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(r.dec.InputOffset())
	return r.data[end-len(v) : end : end], nil
}

// members reads an object and calls fn at each member's value, which fn reads.
func (r *reader) members(fn func(name []byte) error) error {
	return r.nested('{', '}', func() error {
		raw, err := r.value()
		if err != nil {
			return err
		}
		return fn(unquote(raw))
	})
}

// elements reads an array and calls fn at each element, which fn reads.
func (r *reader) elements(fn func() error) error { return r.nested('[', ']', fn) }

func (r *reader) nested(start, end jsontext.Kind, fn func() error) error {
	if kind := r.dec.PeekKind(); kind != start && kind != jsontext.KindInvalid {
		return fmt.Errorf("at byte %d: want %v, found %v", r.dec.InputOffset(), start, kind)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for !r.is(end) {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// end makes sure that nothing follows the value.
func (r *reader) end() error {
	at := r.dec.InputOffset()
	_, err := r.dec.ReadToken()
	if err == io.EOF {
		return nil
	}
	return fmt.Errorf("more data after the value at byte %d", at)
}

// kindOf returns the kind of a raw value, which is never empty.
func kindOf(raw []byte) jsontext.Kind { return jsontext.Value(raw).Kind() }

// isNull reports a JSON null, which stands for absence everywhere.
func isNull(raw []byte) bool { return kindOf(raw) == 'n' }

// unquote decodes a raw JSON string whose syntax was checked. The result is a
// part of raw where nothing needs decoding.
func unquote(raw []byte) []byte {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	// An error can only be about UTF-8, which has been replaced by then.
	text, _ := jsontext.AppendUnquote(nil, raw)
	return text
}
