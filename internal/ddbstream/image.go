package ddbstream

import (
	"bytes"
	"errors"
	"fmt"
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
	raw := i.find(attr)
	if raw == nil {
		return "", false
	}
	r := open(raw)
	defer r.close()
	var value string
	var found bool
	err := r.typed(func(name []byte) error {
		raw, err := r.value()
		if err != nil || kindOf(raw) != '"' {
			return err
		}
		for _, t := range types {
			if string(name) == t {
				value, found = string(unquote(raw)), true
			}
		}
		return nil
	})
	return value, found && err == nil
}

// mayHave is false when the image has no attribute of this name for sure. It looks
// for the name anywhere in the text, which tells most images apart from those with
// a rare attribute at little cost; where there are escapes it may hide.
func (i Image) mayHave(attr string) bool {
	return bytes.Contains(i.raw, []byte(attr)) || bytes.IndexByte(i.raw, '\\') >= 0
}

// names lists the attributes' names.
func (i Image) names() []string {
	if !i.Present() {
		return nil
	}
	r := open(i.raw)
	defer r.close()
	var names []string
	_ = r.members(func(name []byte) error { // its syntax was checked
		names = append(names, string(name))
		_, err := r.value()
		return err
	})
	return names
}

var errFound = errors.New("found")

// find returns the raw value of an attribute, nil without one.
func (i Image) find(attr string) []byte {
	if !i.Present() {
		return nil
	}
	r := open(i.raw)
	defer r.close()
	var found []byte
	err := r.members(func(name []byte) error {
		same := string(name) == attr
		raw, err := r.value()
		if err == nil && same {
			found, err = raw, errFound
		}
		return err
	})
	if err != errFound {
		return nil
	}
	return found
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
