package httpapi

import (
	"bytes"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
)

// MaxAnswer bounds the [Weight] of a response's items, in bytes. Lambda allows 6,291,556 bytes; the rest is for headers
// and the last item.
const MaxAnswer = 5_000_000

// Weight returns an upper bound of the bytes that a JSON text takes in Lambda's response, which contains it as a JSON
// string.
func Weight(text []byte) int {
	n := len(text)
	for i, c := range text {
		switch {
		case c == '"', c == '\\':
			n++
		case c < ' ':
			n += 5
		case c == 0xE2 && bytes.HasPrefix(text[i:], lineEnd):
			n += 3 // U+2028 and U+2029 are escaped
		}
	}
	return n
}

// lineEnd is the UTF-8 prefix of U+2028 and U+2029.
var lineEnd = []byte{0xE2, 0x80}

// WeightOf returns the [Weight] of a value's JSON. It returns an error if the value has no JSON.
func WeightOf(value any) (int, error) {
	var text bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&text, value); err != nil {
		return 0, fmt.Errorf("encoding an answer: %w", err)
	}
	return Weight(text.Bytes()), nil
}
