package ddbstream

import (
	"bytes"
	"fmt"
	"slices"
)

// Image is an item, or its keys, as the stream shows it: attributes in
// DynamoDB's own JSON. The zero Image is absent.
//
// The methods that look for an attribute read the image each time, up to that
// attribute.
type Image struct {
	raw []byte // a JSON object; the syntax was checked
}

func newImage(raw []byte) (Image, error) {
	if kind := kindOf(raw); kind != '{' {
		return Image{}, fmt.Errorf("want an object, found %v", kind)
	}
	return Image{raw}, nil
}

// Present reports whether there is an image. One without attributes is present.
func (i Image) Present() bool { return i.raw != nil }

// Has reports whether the image has an attribute of this name.
func (i Image) Has(attr string) bool { return i.find(attr) != nil }

// String returns the text of an attribute of type S. It is false for an absent
// attribute and one of another type.
func (i Image) String(attr string) (string, bool) { return i.scalar(attr, "S") }

// Number returns the digits of an attribute of type N, as DynamoDB wrote them.
// It is false for an absent attribute and one of another type.
func (i Image) Number(attr string) (string, bool) { return i.scalar(attr, "N") }

// Key returns an attribute of one of the types that a key may have: S as its
// text, N as its digits, B in base64. It is false for any other.
func (i Image) Key(attr string) (string, bool) { return i.scalar(attr, "S", "N", "B") }

func (i Image) scalar(attr string, types ...string) (string, bool) {
	kind, value := sole(i.find(attr))
	if kind == nil || kindOf(value) != '"' || !slices.ContainsFunc(types, func(t string) bool { return is(kind, t) }) {
		return "", false
	}
	return string(unquote(value)), true
}

// mayHave is false when the image has no attribute of this name for sure. It looks
// for the name anywhere in the text, which tells most images apart from those with
// a rare attribute at little cost; where there are escapes it may hide.
func (i Image) mayHave(attr string) bool {
	return bytes.Contains(i.raw, []byte(attr)) || bytes.IndexByte(i.raw, '\\') >= 0
}

// names lists the attributes' names.
func (i Image) names() (names []string) {
	for name := range members(i.raw) {
		names = append(names, string(unquote(name)))
	}
	return names
}

// find returns the raw value of an attribute, nil without one.
func (i Image) find(attr string) []byte {
	for name, value := range members(i.raw) {
		if is(name, attr) {
			return value
		}
	}
	return nil
}

// typed reads an attribute's value, an object of one member: its type and the
// value, which fn reads.
func (r *reader) typed(fn func(name []byte) error) error {
	n := 0
	start := r.dec.InputOffset()
	err := r.members(func(name []byte) error {
		n++
		return fn(name)
	})
	if err == nil && n != 1 {
		return fmt.Errorf("at byte %d: an attribute has %d types", start, n)
	}
	return err
}
