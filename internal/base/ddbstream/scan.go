package ddbstream

import (
	"encoding/binary"
	"fmt"
)

// scanner reads JSON text. Its methods take the position at which a value begins, and return the
// position after it. They validate the text, and allocate only for escaped names.
//
// The first syntax error is kept in err and moves the position to the end of the data. All
// loops end there. A position after an error is meaningless and may be past the end, so read
// values through between.
type scanner struct {
	data  []byte
	err   error
	size  int    // of the current item
	flaw  error  // the first flaw of the current item
	bytes []byte // buffer for a binary value

	learning bool   // addHole records holes
	holes    []hole // of the current record
	image    byte   // the current image
}

// maxDepth bounds the nesting of values outside of images. DynamoDB allows 32 levels of
// documents, each of which is two levels of JSON.
const maxDepth = 500

// open starts on new data.
func (s *scanner) open(data []byte) {
	s.data, s.err = data, nil
}

// fail records a syntax error at a position.
func (s *scanner) fail(at int, text string) int {
	if s.err == nil {
		s.err = fmt.Errorf("at byte %d: %s", at, text)
	}
	return len(s.data)
}

// unexpected records a syntax error: at a position there is not what was wanted.
func (s *scanner) unexpected(at int, want string) int {
	if at >= len(s.data) {
		return s.fail(len(s.data), "unexpected EOF, want "+want)
	}
	return s.fail(at, fmt.Sprintf("want %s, found %v", want, kindOf(s.data[at:])))
}

// peek returns the byte at a position, or 0 at the end.
func (s *scanner) peek(at int) byte {
	if at < len(s.data) {
		return s.data[at]
	}
	return 0
}

// between returns the text between two positions, or nil after an error.
func (s *scanner) between(from, to int) []byte {
	if s.err != nil {
		return nil
	}
	return s.data[from:to:to]
}

func (s *scanner) skipSpace(at int) int {
	for at < len(s.data) && isSpace(s.data[at]) {
		at++
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// word returns the next eight bytes as a little-endian number, or 0 if there are fewer.
func (s *scanner) word(at int) uint64 {
	if at+8 <= len(s.data) {
		return binary.LittleEndian.Uint64(s.data[at:])
	}
	return 0
}

// skip validates a value of any kind.
func (s *scanner) skip(at, depth int) int {
	switch c := s.peek(at); {
	case c == '"':
		end, _ := s.scanText(at + 1)
		return min(end+1, len(s.data))
	case c == '{' || c == '[':
		return s.skipNested(at, depth+1)
	case c == 't':
		return s.skipLiteral(at, "true")
	case c == 'f':
		return s.skipLiteral(at, "false")
	case c == 'n':
		return s.skipLiteral(at, "null")
	case c == '-' || isDigit(c):
		return s.skipNumber(at)
	}
	return s.unexpected(at, "a value")
}

func (s *scanner) skipNested(at, depth int) int {
	if depth > maxDepth {
		return s.fail(at, fmt.Sprintf("nested more than %d levels", maxDepth))
	}
	if s.data[at] == '[' {
		return s.readArray(at, func(at int) int { return s.skip(at, depth) })
	}
	o := s.enterObject(at)
	for s.member(&o) {
		o.at = s.skip(o.at, depth)
	}
	return o.at
}

// readArray reads an array, and calls readElement with each element's position.
func (s *scanner) readArray(at int, readElement func(at int) int) int {
	at = s.skipSpace(at + 1)
	if s.peek(at) == ']' {
		return at + 1
	}
	for {
		at = s.skipSpace(readElement(at))
		switch s.peek(at) {
		case ',':
			at = s.skipSpace(at + 1)
		case ']':
			return at + 1
		default:
			return s.unexpected(at, ", or ]")
		}
	}
}

func (s *scanner) skipLiteral(at int, text string) int {
	end := at + len(text)
	if end > len(s.data) || string(s.data[at:end]) != text {
		return s.unexpected(at, text)
	}
	return end
}

// skipNumber validates a number by RFC 8259, section 6.
func (s *scanner) skipNumber(at int) int {
	if s.peek(at) == '-' {
		at++
	}
	if s.peek(at) == '0' {
		at++
	} else {
		at = s.skipDigits(at)
	}
	if s.peek(at) == '.' {
		at = s.skipDigits(at + 1)
	}
	if c := s.peek(at); c == 'e' || c == 'E' {
		at++
		if c := s.peek(at); c == '+' || c == '-' {
			at++
		}
		at = s.skipDigits(at)
	}
	return at
}

// skipDigits skips one or more digits.
func (s *scanner) skipDigits(at int) int {
	start := at
	for isDigit(s.peek(at)) {
		at++
	}
	if at == start {
		return s.unexpected(at, "a digit")
	}
	return at
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// expectEnd checks that only white space follows.
func (s *scanner) expectEnd(at int) error {
	if at = s.skipSpace(at); s.err == nil && at < len(s.data) {
		s.err = fmt.Errorf("more data after the value at byte %d", at)
	}
	return s.err
}

// kind identifies a value's JSON type by its first byte.
type kind byte

// kindOf returns the kind of a value; '0' for any number.
func kindOf(raw []byte) kind {
	if c := raw[0]; c != '-' && !isDigit(c) {
		return kind(c)
	}
	return '0'
}

// String returns the kind's name for error messages.
func (k kind) String() string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{', '[':
		return string(rune(k))
	}
	return fmt.Sprintf("%q", byte(k))
}
