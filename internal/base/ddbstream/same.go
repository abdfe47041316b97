package ddbstream

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Same reports whether an attribute has the same value in both images, or is absent from both.
// The order of a document's members and escapes in strings make no difference.
func (i Image) Same(other Image, attr string) bool {
	a, b := i.value(attr), other.value(attr)
	if a == nil || b == nil || bytes.Equal(a, b) {
		return bytes.Equal(a, b)
	}
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	if x.Canonicalize(jsontext.AllowInvalidUTF8(true)) != nil || y.Canonicalize(jsontext.AllowInvalidUTF8(true)) != nil {
		return false // the text differs
	}
	return bytes.Equal(x, y)
}
