package schema_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// TestValuesAreReadBack checks that values are read back, and that truncated bytes and invalid lengths are an error.
func TestValuesAreReadBack(t *testing.T) {
	b := schema.AppendText(binary.AppendUvarint(nil, math.MaxUint64), "é\x00")
	b = schema.AppendText(binary.AppendVarint(b, math.MinInt64), "")
	for n := range len(b) + 1 {
		r := schema.Unpacker{Left: b[:n]}
		number, text, negative, empty := r.Uint(), r.Text(), r.Int(), r.Text()
		if n < len(b) {
			if r.Err == nil || len(r.Left) > 0 || r.Byte() != 0 || r.Uint() != 0 || r.Int() != 0 || r.Text() != "" {
				t.Errorf("the first %d bytes: %+v, want an error", n, r)
			}
			continue
		}
		if r.Err != nil || len(r.Left) > 0 || number != math.MaxUint64 || text != "é\x00" || negative != math.MinInt64 || empty != "" {
			t.Errorf("%d %q %d %q, %+v", number, text, negative, empty, r)
		}
	}
	for _, bad := range [][]byte{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, binary.AppendUvarint(nil, math.MaxUint64)} {
		r := schema.Unpacker{Left: bad}
		if text := r.Text(); text != "" || r.Err == nil {
			t.Errorf("% x: %q, want an error", bad, text)
		}
	}
}

// TestCoder checks that a form that lists its fields once decodes what it encoded, in the bytes of the append functions.
func TestCoder(t *testing.T) {
	type form struct {
		n    uint64
		i    int64
		text string
	}
	code := func(c *schema.Codec, f *form) {
		c.Uint(&f.n)
		c.Int(&f.i)
		c.Text(&f.text)
	}
	want, c := form{300, -2, "é"}, schema.Codec{}
	code(&c, &want)
	if b := schema.AppendText(binary.AppendVarint(binary.AppendUvarint(nil, 300), -2), "é"); string(c.Bytes) != string(b) {
		t.Errorf("encoded % x, want % x", c.Bytes, b)
	}
	var got form
	if code(&schema.Codec{From: &schema.Unpacker{Left: c.Bytes}}, &got); got != want {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
}
