package httpapi

import (
	"bytes"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
)

// MaxAnswer is the weight in bytes that an answer of many parts keeps to. Lambda
// takes 6 MB (6,291,556 bytes) of a synchronous answer, and this leaves room for
// headers and for the last part.
const MaxAnswer = 5_000_000

// Weight is how many bytes a JSON text takes in Lambda's answer, in which it is
// a string itself, at most.
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

// lineEnd begins the line and the paragraph separator in UTF-8.
var lineEnd = []byte{0xE2, 0x80}

// WeightOf is the weight of a value's JSON.
func WeightOf(value any) (int, error) {
	var text bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&text, value); err != nil {
		return 0, fmt.Errorf("encoding an answer: %w", err)
	}
	return Weight(text.Bytes()), nil
}
