package httpapi

import (
	stdjson "encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// unmarshal reads JSON strictly: invalid UTF-8, lone surrogates and repeated
// names are errors, so that no two texts stand for one name by accident.
func unmarshal(text []byte, into any) error {
	err := json.Unmarshal(text, into, wholes)
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return &placedError{location(e.JSONPointer), misfit(e), stdjson.RawMessage(e.JSONValue)}
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &placedError{location(e.JSONPointer), e.Err.Error() + " at byte " + strconv.FormatInt(e.ByteOffset, 10), nil}
	}
	return err
}

// wholes makes whole numbers of all that are, also of 1.0 and 1e2.
var wholes = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, n *int64) error { return readWhole(d, n) }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, n *int) error {
		var long int64
		err := readWhole(d, &long)
		*n = int(long) // of 64 bits where Lambda runs
		return err
	}),
))

// fault is an error in a caller's words: what is wrong with a value.
type fault string

func (f fault) Error() string { return string(f) }

const errNotWhole fault = "it must be a whole number of at most 64 bits"

func readWhole(d *jsontext.Decoder, into *int64) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	n, ok := whole(string(text))
	if !ok {
		return &json.SemanticError{JSONValue: text.Clone(), Err: errNotWhole}
	}
	*into = n
	return nil
}

// Bounds of a whole number's text, which keep the arithmetic small.
const (
	maxWhole    = 100
	maxExponent = 3
)

// whole reads a number of any form that is a whole one of 64 bits.
func whole(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if len(text) > maxWhole || len(exponent) > maxExponent {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// misfit says in a caller's words why a value doesn't fit.
func misfit(e *json.SemanticError) string {
	if own, ok := errors.AsType[fault](e); ok {
		return own.Error()
	}
	if kind := e.GoType.Kind(); kind == reflect.Float64 || kind == reflect.Interface {
		return "it is out of a number's range"
	}
	reason := "it doesn't fit"
	if e.Err != nil {
		reason += ": " + e.Err.Error()
	}
	return reason
}

// placedError says where in the body something is wrong, and what is there. Of an error of
// [onlyJSON.Unmarshal] the framework keeps the text alone, with "body" as the place, and it
// passes nothing of the request in which the error itself could be left. So its text is all
// of it, as JSON, and readPlaced takes it apart again.
type placedError struct {
	Location string             `json:"location"`
	Message  string             `json:"message"`
	Value    stdjson.RawMessage `json:"value,omitzero"` // nil if it can't be said
}

func (e *placedError) Error() string {
	text, err := json.Marshal(e, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return placedMark + "{}" // can't be: the value was read as JSON
	}
	return placedMark + string(text)
}

// placedMark begins the text of a placedError, and of no other.
const placedMark = "placed:"

func readPlaced(text string) (fault huma.ErrorDetail, ok bool) {
	text, ok = strings.CutPrefix(text, placedMark)
	var e placedError
	if !ok || stdjson.Unmarshal([]byte(text), &e) != nil {
		return fault, false
	}
	fault.Location, fault.Message = e.Location, e.Message
	if _, err := strconv.ParseFloat(string(e.Value), 64); errors.Is(err, strconv.ErrRange) {
		fault.Value = cut(string(e.Value)) // as a number it would be out of the reader's range too
	} else if e.Value != nil {
		fault.Value = echoed(e.Value)
	}
	return fault, true
}

// location turns a JSON pointer into the form that validation errors have:
// /events/0/time is body.events[0].time.
func location(pointer jsontext.Pointer) string {
	at := "body"
	for token := range pointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			at += "[" + token + "]"
		} else {
			at += "." + token
		}
	}
	return at
}
