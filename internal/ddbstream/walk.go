package ddbstream

import (
	"bytes"
	"iter"
)

// What an image holds was checked when it was decoded, so looking into it needs
// no more than to know where values end.

// members walks an object of checked JSON: each member's name, still quoted, and
// its value. Other values have none.
func members(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if len(raw) == 0 || raw[0] != '{' {
			return
		}
		for at := skipSpace(raw, 1); raw[at] != '}'; at = skipSpace(raw, at) {
			end := skipString(raw, at)
			start := skipSpace(raw, skipSpace(raw, end)+len(":"))
			next := skipValue(raw, start)
			if !yield(raw[at:end:end], raw[start:next:next]) {
				return
			}
			if at = skipSpace(raw, next); raw[at] == ',' {
				at++
			}
		}
	}
}

func skipSpace(raw []byte, at int) int {
	for raw[at] <= ' ' {
		at++
	}
	return at
}

// skipString returns where a string ends that begins at a place.
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

// skipValue returns where any value ends.
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

func skipNested(raw []byte, at int) int {
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

// is tells whether a quoted text is this one, whatever it escapes.
func is(quoted []byte, text string) bool {
	inner := quoted[1 : len(quoted)-1]
	return string(inner) == text && bytes.IndexByte(inner, '\\') < 0 || string(unquote(quoted)) == text
}

// sole returns the type and the value of an attribute, which is an object of that
// one member; nil for all else.
func sole(raw []byte) (kind, value []byte) {
	n := 0
	for name, v := range members(raw) {
		kind, value = name, v
		n++
	}
	if n != 1 {
		return nil, nil
	}
	return kind, value
}
