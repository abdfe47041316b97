package ddbstream

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/internal/base/decimal"
)

// DynamoDB's overhead for documents, in bytes, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
const (
	documentSize = 3 // each list and map
	elementSize  = 1 // each element of a list or map
)

// maxNesting is twice the 32 levels that DynamoDB allows.
const maxNesting = 64

// readImage reads the item that begins at a position, and returns it with its size and its end. A value that is valid
// JSON but not in DynamoDB's form is a flaw of the image, and no syntax error.
func (s *scanner) readImage(at int) (i Image, end int) {
	s.size, s.flaw = 0, nil
	o := s.enterObject(at)
	for s.member(&o) {
		s.size += len(o.name)
		o.at = s.readAttribute(o.at, 1)
	}
	if s.flaw != nil {
		s.size = flawed
	}
	return Image{raw: s.between(at, o.at), size: s.size, names: o.names}, o.at
}

// markFlaw records the image's first flaw and skips the value that has it.
func (s *scanner) markFlaw(at int, flaw string) int {
	if s.flaw == nil {
		s.flaw = fmt.Errorf("at byte %d: %s", at, flaw)
	}
	return s.skip(at, 0)
}

// wrongKind records a value that is not of the wanted kind as a flaw; the end of the data is a syntax error.
func (s *scanner) wrongKind(at int, want string) int {
	if at >= len(s.data) {
		return s.unexpected(at, want)
	}
	return s.markFlaw(at, fmt.Sprintf("want %s, found %v", want, kindOf(s.data[at:])))
}

// Most attributes begin with `{"S":"`. Up to six bytes are compared as one number, the first byte lowest.
const (
	typeMask = 0xff_ff_00_ff_ff
	typeWord = ':'<<32 | '"'<<24 | '"'<<8 | '{'
	textMask = 0xff_ff_ff_ff_ff_ff
	textWord = '"'<<40 | typeWord | 'S'<<16
)

// readAttribute reads an attribute's value: an object with one member, its type and content.
func (s *scanner) readAttribute(at, depth int) int {
	w := s.word(at)
	if w&textMask == textWord { // the most frequent form
		end, size := s.scanText(at + len(`{"S":"`))
		s.addHole('S', at+len(`{"S":`), end+1)
		s.size += size
		if s.peek(end+1) == '}' {
			return end + 2
		}
		return s.readRestOfAttribute(object{start: at, at: end + 1}, 1, depth)
	}
	if letter := byte(w >> 16); w&typeMask == typeWord && 'A' <= letter && letter <= 'Z' {
		next := s.readValue(letter, s.skipSpace(at+len(`{"S":`)), depth)
		if s.peek(next) == '}' {
			return next + 1
		}
		return s.readRestOfAttribute(object{start: at, at: next}, 1, depth)
	}
	if s.peek(at) != '{' {
		return s.wrongKind(at, "{")
	}
	return s.readRestOfAttribute(s.enterObject(at), 0, depth)
}

// readRestOfAttribute reads the members of an attribute after readBefore others. More than one is a flaw; DynamoDB Local
// writes an empty map without its type, as {}.
func (s *scanner) readRestOfAttribute(o object, readBefore, depth int) int {
	types := readBefore
	for s.member(&o) {
		types++
		o.at = s.readValue(typeOf(o.name), o.at, depth)
	}
	switch {
	case types == 0:
		s.size += documentSize
	case types > 1 && s.flaw == nil:
		s.flaw = fmt.Errorf("at byte %d: an attribute has %d types", o.start, types)
	}
	return o.at
}

// typeOf returns a letter for each of DynamoDB's types. It is the type's own letter, in lower
// case for a set, 't' for BOOL and NULL, and 0 for an unknown type.
func typeOf(name []byte) byte {
	switch string(name) {
	case "S", "N", "B", "L", "M":
		return name[0]
	case "SS", "NS", "BS":
		return name[0] | 0x20
	case "BOOL", "NULL":
		return 't'
	}
	return 0
}

// readValue reads the content of an attribute of the given type.
func (s *scanner) readValue(kind byte, at, depth int) int {
	switch kind {
	case 'S':
		return s.readString(at)
	case 'N':
		return s.readNumber(at)
	case 'B':
		return s.readBinary(at)
	case 's':
		return s.readList(at, s.readString)
	case 'n':
		return s.readList(at, s.readNumber)
	case 'b':
		return s.readList(at, s.readBinary)
	case 't':
		return s.readBool(at)
	case 'L', 'M':
		return s.readDocument(kind, at, depth)
	}
	return s.markFlaw(at, "unknown type")
}

func (s *scanner) readString(at int) int {
	if s.peek(at) != '"' {
		return s.wrongKind(at, "a string")
	}
	end, size := s.scanText(at + 1)
	s.addHole('S', at, end+1)
	s.size += size
	return end + 1
}

// readNumber reads the content of an N: a string with a number.
func (s *scanner) readNumber(at int) int {
	if s.peek(at) != '"' {
		return s.wrongKind(at, "a string")
	}
	if end, size := s.readWholeNumber(at + 1); size > 0 {
		s.addHole('N', at, end+1)
		s.size += size
		return end + 1
	}
	end, _ := s.scanText(at + 1)
	s.addHole('N', at, end+1)
	size, ok := numberSize(s.between(at+1, end))
	if !ok && s.err == nil { // it may have escapes
		if size, ok = numberSize(unquote(s.data[at : end+1])); !ok {
			return s.markFlaw(at, fmt.Sprintf("%.50s is not a number", s.data[at:end+1]))
		}
	}
	s.size += size
	return end + 1
}

// readWholeNumber reads the most frequent form of a number: up to 18 digits and the closing quote.
// The size is 0 for any other form.
func (s *scanner) readWholeNumber(at int) (end, size int) {
	first, last := at, at // positions of the first digit, which must not be 0, and of the last digit other than 0
	for ; isDigit(s.peek(at)); at++ {
		if s.data[at] != '0' {
			last = at
		}
	}
	if n := at - first; n == 0 || n > 18 || s.peek(at) != '"' || s.data[first] == '0' {
		return 0, 0
	}
	return at, decimal.SizeOfPositive(at-1-first, at-1-last)
}

// readBinary reads the content of a B: a string in base64.
func (s *scanner) readBinary(at int) int {
	if s.peek(at) != '"' {
		return s.wrongKind(at, "a string")
	}
	end, _ := s.scanText(at + 1)
	s.addHole('B', at, end+1)
	if s.err != nil {
		return end
	}
	size, err := s.binarySize(s.data[at+1 : end])
	if err != nil { // some writers escape the slash
		size, err = s.binarySize(unquote(s.data[at : end+1]))
	}
	if err != nil {
		return s.markFlaw(at, err.Error())
	}
	s.size += size
	return end + 1
}

func (s *scanner) binarySize(text []byte) (int, error) {
	n := base64.StdEncoding.DecodedLen(len(text))
	s.bytes = slices.Grow(s.bytes[:0], n)
	return base64.StdEncoding.Decode(s.bytes[:n], text)
}

func (s *scanner) readBool(at int) int {
	if c := s.peek(at); c != 't' && c != 'f' {
		return s.wrongKind(at, "a boolean")
	}
	s.size++
	return s.skip(at, 0)
}

// readList reads an array, and calls readElement for each element. A value of another kind is a flaw of the image.
func (s *scanner) readList(at int, readElement func(at int) int) int {
	if s.peek(at) != '[' {
		return s.wrongKind(at, "[")
	}
	return s.readArray(at, readElement)
}

// readDocument reads a list or a map, whose elements have an overhead in size.
func (s *scanner) readDocument(kind byte, at, depth int) int {
	if depth > maxNesting {
		return s.markFlaw(at, fmt.Sprintf("nested more than %d levels", maxNesting))
	}
	s.size += documentSize
	if kind == 'L' {
		return s.readList(at, func(at int) int {
			s.size += elementSize
			return s.readAttribute(at, depth+1)
		})
	}
	if s.peek(at) != '{' {
		return s.wrongKind(at, "{")
	}
	o := s.enterObject(at)
	for s.member(&o) {
		s.size += len(o.name) + elementSize
		o.at = s.readAttribute(o.at, depth+1)
	}
	return o.at
}

// SizeIn returns the size of an item with only these attributes, in bytes; nil means all. The error has the byte offset of
// the value that can't be read.
func (i Image) SizeIn(attributes []string) (int, error) {
	if attributes == nil {
		return i.Size()
	}
	var s scanner
	s.open(i.raw)
	o := s.enterObject(0)
	for s.member(&o) {
		if !slices.Contains(attributes, string(o.name)) {
			o.at = s.skip(o.at, 0)
			continue
		}
		s.size += len(o.name)
		o.at = s.readAttribute(o.at, 1)
	}
	if s.flaw != nil {
		return 0, fmt.Errorf("image: %w", s.flaw)
	}
	return s.size, nil
}

// numberSize returns a number's size in an item, in bytes. ok is false if text is not a number.
func numberSize(text []byte) (size int, ok bool) {
	n, ok := decimal.Parse(text)
	return n.Size(), ok
}
