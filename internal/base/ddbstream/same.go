package ddbstream

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Same reports whether an attribute has the same value in both images, or is absent from both. The order of a document's
// members and escapes in strings make no difference.
func (i Image) Same(other Image, attr string) bool {
	a, b := i.rawAttribute(attr), other.rawAttribute(attr)
	if bytes.Equal(a, b) { // or both are absent
		return true
	}
	if a == nil || b == nil {
		return false
	}
	canonicalA, canonicalB := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	for _, value := range []*jsontext.Value{&canonicalA, &canonicalB} {
		if value.Canonicalize(jsontext.AllowInvalidUTF8(true)) != nil {
			return false
		}
	}
	return bytes.Equal(canonicalA, canonicalB)
}

// SameIn reports whether all these attributes are the same in both images. A nil list means all attributes:
// then it returns false, since a write that changes nothing causes no record.
func (i Image) SameIn(other Image, attributes []string) bool {
	for _, attribute := range attributes {
		if !i.Same(other, attribute) {
			return false
		}
	}
	return attributes != nil
}
