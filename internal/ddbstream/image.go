package ddbstream

import "fmt"

// Image is an item, or its keys, as the stream shows it: attributes in
// DynamoDB's own JSON. The zero Image is absent.
//
// The methods that look for an attribute read the image each time, up to that
// attribute.
type Image struct {
	raw   []byte // a JSON object; the syntax was checked
	size  int    // or flawed
	names nameSet
}

// flawed is the size of an image that has a value in no form of DynamoDB's.
const flawed = -1

// Present reports whether there is an image. One without attributes is present.
func (i Image) Present() bool { return i.raw != nil }

// Size returns the item's size in bytes by DynamoDB's rules: names and strings
// in UTF-8, binary values decoded, numbers as numberSize says. An absent image has
// size 0. The error says what can't be read, with its byte offset in the image.
func (i Image) Size() (int, error) {
	if i.size != flawed {
		return i.size, nil
	}
	var s scanner
	s.open(i.raw)
	s.image(0)
	return 0, fmt.Errorf("image: %w", s.flaw)
}

// Has reports whether the image has an attribute of this name.
func (i Image) Has(attr string) bool { return i.find(attr) != 0 }

// String returns the text of an attribute of type S. It is false for an absent
// attribute and one of another type.
func (i Image) String(attr string) (string, bool) {
	if kind, value, _ := i.scalar(attr); kind == 'S' {
		return string(value), true
	}
	return "", false
}

// Number returns the digits of an attribute of type N, as DynamoDB wrote them.
// It is false for an absent attribute and one of another type.
func (i Image) Number(attr string) (string, bool) {
	if kind, value, _ := i.scalar(attr); kind == 'N' {
		return string(value), true
	}
	return "", false
}

// Bool returns an attribute of type BOOL. It is false, false for an absent attribute
// and one of another type.
func (i Image) Bool(attr string) (value, ok bool) {
	if raw := i.value(attr); raw != nil {
		kind, flag := sole(raw)
		ok = string(unquote(kind)) == "BOOL"
		value = ok && string(flag) == "true"
	}
	return value, ok
}

// Key returns an attribute of one of the types that a key may have: S as its
// text, N as its digits, B in base64. It is false for any other. The result may be
// a part of the payload.
func (i Image) Key(attr string) ([]byte, bool) {
	if _, value, ok := i.scalar(attr); ok {
		return value, true
	}
	return nil, false
}

// attributes lists the attributes' names.
func (i Image) attributes() (names []string) {
	for w := walk(i.raw); w.next(); {
		names = append(names, string(unquote(w.name)))
	}
	return names
}

// find returns the place of an attribute's value, 0 without one.
func (i Image) find(attr string) int {
	if !i.names.has(hashName(attr)) {
		return 0
	}
	for w := walk(i.raw); w.nextName(); w.pass() {
		if is(w.name, attr) {
			return w.at
		}
	}
	return 0
}

// value returns the raw value of an attribute, nil without one.
func (i Image) value(attr string) []byte {
	at := i.find(attr)
	if at == 0 {
		return nil
	}
	end := skipValue(i.raw, at)
	return i.raw[at:end:end]
}

// scalar returns an attribute of type S, N or B, and which it is.
func (i Image) scalar(attr string) (kind byte, value []byte, ok bool) {
	at := i.find(attr)
	if at == 0 {
		return 0, nil, false
	}
	if text := i.raw[at:]; isPlainScalar(text) {
		if end := skipString(text, len(`{"S":`)); text[end] == '}' {
			return text[2], unquote(text[len(`{"S":`):end]), true
		}
	}
	name, quoted := sole(i.value(attr))
	if name == nil || quoted[0] != '"' {
		return 0, nil, false
	}
	kind = typeOf(unquote(name))
	return kind, unquote(quoted), isScalar(kind)
}

func isScalar(kind byte) bool { return kind == 'S' || kind == 'N' || kind == 'B' }
