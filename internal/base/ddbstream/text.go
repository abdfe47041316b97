package ddbstream

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is scanned eight bytes at a time.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// markSpecial returns a word with the high bit of each byte of w that is not plain text: quotes, backslashes, control
// characters, and bytes beyond ASCII. Only the lowest mark is exact, because a borrow may set higher marks. One comparison
// finds quotes and control characters, because their codes are 2 apart.
func markSpecial(w uint64) uint64 {
	control, backslash := w^ones*('"'^' '), w^ones*'\\'
	return ((control - ones*(' '+1)) | (backslash - ones) | w) & highs
}

// scanText reads a string; at is the position after its opening quote. It returns the position of the closing quote and
// the decoded text's size in bytes of UTF-8.
func (s *scanner) scanText(at int) (end, size int) {
	start, data := at, s.data
	for ; at+8 <= len(data); at += 8 {
		m := markSpecial(binary.LittleEndian.Uint64(data[at:]))
		if m == 0 {
			continue
		}
		at += bits.TrailingZeros64(m) / 8
		if data[at] == '"' {
			return at, at - start
		}
		break
	}
	return s.scanRestOfText(at, at-start)
}

// scanRestOfText scans from at to the closing quote, and returns its position and the size of the whole text in bytes of
// UTF-8. size is the size of the text before at.
func (s *scanner) scanRestOfText(at, size int) (end, wholeSize int) {
	data := s.data
	for at < len(data) {
		if at+8 <= len(data) {
			plain := bits.TrailingZeros64(markSpecial(binary.LittleEndian.Uint64(data[at:]))) / 8
			at, size = at+plain, size+plain
			if plain == 8 {
				continue
			}
		}
		switch c := data[at]; {
		case c == '"':
			return at, size
		case c < ' ':
			return s.fail(at, "a control character in a string"), 0
		case c == '\\':
			r, width := unescape(data[at:])
			if width == 0 {
				return s.badEscape(at), 0
			}
			at, size = at+width, size+utf8.RuneLen(r)
		case c < utf8.RuneSelf:
			at, size = at+1, size+1
		default:
			r, width := utf8.DecodeRune(data[at:]) // U+FFFD for invalid UTF-8
			at, size = at+width, size+utf8.RuneLen(r)
		}
	}
	return s.unexpected(at, "the end of a string"), 0
}

func (s *scanner) badEscape(at int) int {
	if n := bytes.IndexByte(s.data[at:], '"'); n < 0 && len(s.data)-at < unitLen {
		return s.unexpected(len(s.data), "the end of an escape")
	}
	return s.fail(at, "an invalid escape in a string")
}

// unescape decodes the escape at the beginning of text, as encoding/json does: a lone surrogate
// becomes U+FFFD. The width is 0 if the escape is invalid.
func unescape(text []byte) (r rune, width int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch c := text[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	r = unescapeUnit(text)
	if r < 0 {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(r, unescapeUnit(text[unitLen:])); pair != utf8.RuneError {
			return pair, 2 * unitLen
		}
		return utf8.RuneError, unitLen
	}
	return r, unitLen
}

// unitLen is the length of an escaped unit of UTF-16.
const unitLen = len(`\u0000`)

// unescapeUnit decodes an escaped unit of UTF-16. It returns -1 if text does not begin with one.
func unescapeUnit(text []byte) rune {
	if len(text) < unitLen || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	r := rune(0)
	for _, c := range text[2:unitLen] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// unquote decodes a valid JSON string. The result is a part of quoted if nothing needs
// decoding.
func unquote(quoted []byte) []byte {
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return text
	}
	return appendText(nil, text)
}

// appendText decodes the content of a string.
func appendText(to, text []byte) []byte {
	for len(text) > 0 {
		r, width := rune(text[0]), 1
		switch {
		case r == '\\':
			r, width = unescape(text)
		case r >= utf8.RuneSelf:
			r, width = utf8.DecodeRune(text)
		}
		to, text = utf8.AppendRune(to, r), text[width:]
	}
	return to
}
