package throttle

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// object has members of a JSON object by name, each as its text. nil stands for no member.
type object map[string]jsontext.Value

// document is the text of a JSON object, whose members are parts of it.
type document struct {
	text    []byte
	members []member
}

type member struct {
	name  []byte // without escapes
	whole []byte // from the name to the end of the value
	value jsontext.Value
}

// newDocument reports whether a text is a JSON object. It checks no more than it needs to find the members.
func newDocument(text []byte) (document, bool) {
	d := document{text, make([]member, 0, 4)}
	s := scanner{text: text}
	if !s.skip('{') {
		return document{}, false
	}
	for !s.skip('}') {
		if len(d.members) > 0 && !s.skip(',') {
			return document{}, false
		}
		name := s.value()
		begin := s.at - len(name)
		colon := s.skip(':')
		value := s.value()
		if len(name) < 2 || name[0] != '"' || !colon || value == nil {
			return document{}, false
		}
		plain := name[1 : len(name)-1]
		if bytes.IndexByte(plain, '\\') >= 0 {
			plain, _ = jsontext.AppendUnquote(nil, name) // a wrong name is no name that counts
		}
		d.members = append(d.members, member{plain, text[begin:s.at], value})
	}
	return d, true
}

// scanner finds the ends of JSON values.
type scanner struct {
	text []byte
	at   int
}

// skip skips spaces and, if it comes next, a character.
func (s *scanner) skip(c byte) bool {
	for s.at < len(s.text) && bytes.IndexByte([]byte(" \t\r\n"), s.text[s.at]) >= 0 {
		s.at++
	}
	found := s.at < len(s.text) && s.text[s.at] == c
	if found {
		s.at++
	}
	return found
}

// value skips spaces and returns the next value, or nil if it does not end.
func (s *scanner) value() []byte {
	s.skip(0)
	text, depth := s.text[s.at:], 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 || i+1 < len(text) && bytes.IndexByte([]byte(",]} \t\r\n"), text[i+1]) < 0 {
				continue // in a list, an object, a number or a word
			}
		}
		if depth <= 0 {
			end := min(i+1, len(text))
			s.at += end
			return text[:end]
		}
	}
	return nil
}

// get returns the value of a member, or nil. The last of equal names counts.
func (d document) get(name string) (value jsontext.Value) {
	for _, m := range d.members {
		if string(m.name) == name {
			value = m.value
		}
	}
	return value
}

// with returns the text with some members changed. Their names need no escapes.
func (d document) with(changed object) []byte {
	if len(changed) == 0 {
		return d.text
	}
	out := append(make([]byte, 0, len(d.text)+64*len(changed)), '{')
	for _, m := range d.members {
		if _, ok := changed[string(m.name)]; !ok {
			out = append(append(out, m.whole...), ',')
		}
	}
	for name, value := range changed {
		if value != nil {
			out = append(append(append(append(out, '"'), name...), '"', ':'), value...)
			out = append(out, ',')
		}
	}
	if last := len(out) - 1; last > 0 {
		out = out[:last]
	}
	return append(out, '}')
}
