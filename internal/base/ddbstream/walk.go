package ddbstream

import (
	"bytes"
	"unicode/utf8"
)

// Decoding has validated the images, so the functions below only find where values end.

// walker iterates over the members of an object in valid JSON:
//
//	for w := walk(raw); w.next(); {
//		fmt.Printf("%s is %s\n", w.name, w.value)
//	}
type walker struct {
	name, value []byte // of the member; the name is quoted
	raw         []byte
	at          int
}

// walk returns a walker over an object; other values have no members.
func walk(raw []byte) walker {
	if len(raw) == 0 || raw[0] != '{' {
		return walker{}
	}
	return walker{raw: raw, at: 1}
}

// next moves to the next member and returns false at the end.
func (w *walker) next() bool {
	if !w.nextName() {
		return false
	}
	start := w.at
	w.skip()
	w.value = w.raw[start:w.at:w.at]
	return true
}

// nextName moves to the next member's value and reads only its name.
func (w *walker) nextName() bool {
	if w.raw == nil {
		return false
	}
	raw, at := w.raw, skipSpace(w.raw, w.at)
	if raw[at] == ',' {
		at = skipSpace(raw, at+1)
	}
	if raw[at] == '}' {
		return false
	}
	end := skipString(raw, at)
	w.name, w.at = raw[at:end:end], skipSpace(raw, skipSpace(raw, end)+len(":"))
	return true
}

func (w *walker) skip() { w.at = skipValue(w.raw, w.at) }

// isPlainScalar reports whether an attribute's value begins like `{"S":"`.
func isPlainScalar(raw []byte) bool {
	return len(raw) > 6 && raw[5] == '"' && raw[4] == ':' && raw[3] == '"' && raw[1] == '"' && raw[0] == '{' && isScalar(raw[2])
}

func skipSpace(raw []byte, at int) int {
	for raw[at] <= ' ' {
		at++
	}
	return at
}

// skipString returns the end of the string that begins at a position.
func skipString(raw []byte, at int) int {
	for at++; ; at++ {
		at += bytes.IndexByte(raw[at:], '"')
		escapes := 0
		for raw[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
}

// skipValue returns the end of a value of any kind.
func skipValue(raw []byte, at int) int {
	switch raw[at] {
	case '"':
		return skipString(raw, at)
	case '{', '[':
		return skipNested(raw, at)
	}
	for at < len(raw) && raw[at] > ' ' && raw[at] != ',' && raw[at] != '}' && raw[at] != ']' {
		at++
	}
	return at
}

// skipNested returns the end of an object or array.
func skipNested(raw []byte, at int) int {
	if text := raw[at:]; isPlainScalar(text) { // the usual attribute
		if end := skipString(text, len(`{"S":`)); text[end] == '}' {
			return at + end + 1
		}
	}
	for depth := 0; ; {
		switch raw[at] {
		case '"':
			at = skipString(raw, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		at++
		if depth == 0 {
			return at
		}
	}
}

// equalsQuoted reports whether a JSON string has this text.
func equalsQuoted(quoted []byte, text string) bool {
	inner := quoted[1 : len(quoted)-1]
	for _, c := range inner {
		if c == '\\' || c >= utf8.RuneSelf {
			return string(unquote(quoted)) == text
		}
	}
	return string(inner) == text
}

// soleMember returns the type and the value of an attribute, an object with one member. DynamoDB Local writes an empty map
// without its type, as {}. It returns nil for any other value.
func soleMember(raw []byte) (kind, value []byte) {
	w := walk(raw)
	if !w.next() && w.raw != nil {
		return []byte(`"M"`), raw
	}
	kind, value = w.name, w.value
	if w.next() {
		return nil, nil
	}
	return kind, value
}
