package throttle

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// object has members of a JSON object by name, each as its text. [document.with] removes a member whose text is nil.
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

// newDocument parses a JSON object; ok is false for other texts.
func newDocument(text []byte) (d document, ok bool) {
	d = document{text, make([]member, 0, 4)}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text), lenient)
	if t, err := decoder.ReadToken(); err != nil || t.Kind() != '{' {
		return document{}, false
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadValue()
		if err != nil {
			return document{}, false
		}
		begin := int(decoder.InputOffset()) - len(name)
		plain := text[begin+1 : begin+len(name)-1]
		if bytes.IndexByte(plain, '\\') >= 0 {
			plain, _ = jsontext.AppendUnquote(nil, name) // invalid UTF-8 is no error for the engine
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return document{}, false
		}
		end := int(decoder.InputOffset())
		d.members = append(d.members, member{plain, text[begin:end], text[end-len(value) : end]})
	}
	_, err := decoder.ReadToken()
	return d, err == nil
}

// member returns the value of the last member with a name, or nil if there is none.
func (d document) member(name string) (value jsontext.Value) {
	for _, m := range d.members {
		if string(m.name) == name {
			value = m.value
		}
	}
	return value
}

// with returns the text with members replaced, added or, if their value is nil, removed. Their names need no escapes.
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
			out = fmt.Appendf(out, `"%s":%s,`, name, value)
		}
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}')
}
