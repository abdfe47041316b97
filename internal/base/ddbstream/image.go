package ddbstream

// Image is an item, or its keys, in DynamoDB JSON. The zero Image is absent. A method that takes an
// attribute's name scans the image up to that attribute.
type Image struct {
	raw   []byte  // a JSON object; the syntax was checked
	size  int     // in bytes, or flawed
	names nameSet // of its attributes
}

// flawed is the size of an image with a value that is not in DynamoDB's form.
const flawed = -1

// Present reports whether there is an image. One without attributes is present.
func (i Image) Present() bool { return i.raw != nil }

// Size returns the item's size in bytes by DynamoDB's rules. An absent image has size 0. The
// error has the byte offset of the value that can't be read.
func (i Image) Size() (int, error) {
	if i.size != flawed {
		return i.size, nil
	}
	var s scanner
	s.open(i.raw)
	s.readImage(0)
	return 0, s.flaw
}

// Has reports whether the image has an attribute of this name.
func (i Image) Has(attr string) bool { return i.findAttribute(attr) != 0 }

// String returns the text of an attribute of type S. ok is false if the attribute is absent or
// has another type.
func (i Image) String(attr string) (string, bool) {
	if kind, value, _ := i.scalar(attr); kind == 'S' {
		return string(value), true
	}
	return "", false
}

// Number returns the digits of an attribute of type N, as DynamoDB wrote them. ok is false if
// the attribute is absent or has another type.
func (i Image) Number(attr string) (string, bool) {
	if kind, value, _ := i.scalar(attr); kind == 'N' {
		return string(value), true
	}
	return "", false
}

// SoleName returns the name of the image's only attribute, or "".
func (i Image) SoleName() string {
	name, value := soleMember(i.raw)
	if value == nil {
		return ""
	}
	return string(unquote(name))
}

// Key returns an attribute of a type that keys may have: the text of S, the digits of N, and the base64
// of B. ok is false for any other attribute. The result may be a part of the payload.
func (i Image) Key(attr string) (value []byte, ok bool) {
	_, value, ok = i.scalar(attr)
	if !ok {
		return nil, false
	}
	return value, true
}

// findAttribute returns the offset of an attribute's value, or 0 if there is none.
func (i Image) findAttribute(attr string) int {
	if !i.names.has(hashName(attr)) {
		return 0
	}
	for w := walk(i.raw); w.nextName(); w.skip() {
		if equalsQuoted(w.name, attr) {
			return w.at
		}
	}
	return 0
}

// rawAttribute returns the raw value of an attribute, or nil if there is none.
func (i Image) rawAttribute(attr string) []byte {
	at := i.findAttribute(attr)
	if at == 0 {
		return nil
	}
	end := skipValue(i.raw, at)
	return i.raw[at:end:end]
}

// scalar returns an attribute of type S, N or B, and its type.
func (i Image) scalar(attr string) (kind byte, value []byte, ok bool) {
	at := i.findAttribute(attr)
	if at == 0 {
		return 0, nil, false
	}
	if text := i.raw[at:]; isPlainScalar(text) {
		if end := skipString(text, len(`{"S":`)); text[end] == '}' {
			return text[2], unquote(text[len(`{"S":`):end]), true
		}
	}
	name, quoted := soleMember(i.rawAttribute(attr))
	if name == nil || quoted[0] != '"' {
		return 0, nil, false
	}
	kind = typeOf(unquote(name))
	return kind, unquote(quoted), isScalar(kind)
}

func isScalar(kind byte) bool { return kind == 'S' || kind == 'N' || kind == 'B' }

// Numbers returns the digits of all members of type N of an attribute of type M, by name. ok is
// false if the attribute is absent or has another type.
func (i Image) Numbers(attr string) (map[string]string, bool) {
	kind, value := soleMember(i.rawAttribute(attr))
	if kind == nil || !equalsQuoted(kind, "M") || value[0] != '{' {
		return nil, false
	}
	numbers := make(map[string]string)
	for w := walk(value); w.next(); {
		kind, digits := soleMember(w.value)
		if kind == nil {
			return nil, false
		}
		if equalsQuoted(kind, "N") && digits[0] == '"' {
			numbers[string(unquote(w.name))] = string(unquote(digits))
		}
	}
	return numbers, true
}
