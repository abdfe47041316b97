package ddbstream

import (
	"encoding/base64"
	"fmt"
	"slices"
)

// What DynamoDB adds for documents, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
const (
	documentSize = 3 // each list and map
	elementSize  = 1 // each element of a list or map
)

// maxNesting is twice the 32 levels that DynamoDB allows.
const maxNesting = 64

// Size returns the item's size in bytes by DynamoDB's rules: names and strings
// in UTF-8, binary values decoded, numbers as numberSize says. An absent image has size 0. The error says what can't be read, with
// its byte offset in the image.
func (i Image) Size() (int, error) {
	if !i.Present() {
		return 0, nil
	}
	s := sizer{reader: open(i.raw)}
	defer s.close()
	if err := s.attributes(0); err != nil {
		return 0, fmt.Errorf("image: %w", err)
	}
	return s.size, nil
}

// partSize is the size of an item that has these attributes only; nil for all.
func (i Image) partSize(attributes []string) (int, error) {
	if attributes == nil {
		return i.Size()
	}
	s := sizer{reader: open(i.raw)}
	defer s.close()
	err := s.members(func(name []byte) error {
		if !slices.Contains(attributes, string(name)) {
			_, err := s.reader.value()
			return err
		}
		s.size += len(name)
		return s.attribute()
	})
	if err != nil {
		return 0, fmt.Errorf("image: %w", err)
	}
	return s.size, nil
}

type sizer struct {
	*reader
	size  int
	depth int
}

// attributes reads an object of attributes; each costs extra bytes beside its
// name and value.
func (s *sizer) attributes(extra int) error {
	return s.members(func(name []byte) error {
		s.size += len(name) + extra
		return s.attribute()
	})
}

func (s *sizer) attribute() error {
	if s.depth++; s.depth > maxNesting {
		return fmt.Errorf("at byte %d: nested more than %d levels", s.dec.InputOffset(), maxNesting)
	}
	err := s.typed(s.value)
	s.depth--
	return err
}

func (s *sizer) value(kind []byte) error {
	switch string(kind) {
	case "S":
		return s.scalar(stringSize)
	case "N":
		return s.scalar(numberSize)
	case "B":
		return s.scalar(binarySize)
	case "SS":
		return s.set(stringSize)
	case "NS":
		return s.set(numberSize)
	case "BS":
		return s.set(binarySize)
	case "BOOL", "NULL":
		return s.flag()
	case "L":
		s.size += documentSize
		return s.elements(func() error {
			s.size += elementSize
			return s.attribute()
		})
	case "M":
		s.size += documentSize
		return s.attributes(elementSize)
	}
	return fmt.Errorf("at byte %d: unknown type %.20q", s.dec.InputOffset(), kind)
}

func (s *sizer) scalar(size func([]byte) (int, error)) error {
	raw, err := s.reader.value()
	if err != nil {
		return err
	}
	if kind := kindOf(raw); kind != '"' {
		return fmt.Errorf("at byte %d: want a string, found %v", s.dec.InputOffset(), kind)
	}
	n, err := size(unquote(raw))
	if err != nil {
		return fmt.Errorf("at byte %d: %w", s.dec.InputOffset(), err)
	}
	s.size += n
	return nil
}

func (s *sizer) set(size func([]byte) (int, error)) error {
	return s.elements(func() error { return s.scalar(size) })
}

func (s *sizer) flag() error {
	raw, err := s.reader.value()
	if err != nil {
		return err
	}
	if _, err := boolean(raw); err != nil {
		return fmt.Errorf("at byte %d: %w", s.dec.InputOffset(), err)
	}
	s.size++
	return nil
}

func stringSize(text []byte) (int, error) { return len(text), nil }

func binarySize(text []byte) (int, error) {
	n, err := base64.StdEncoding.Decode(make([]byte, base64.StdEncoding.DecodedLen(len(text))), text)
	return n, err
}
