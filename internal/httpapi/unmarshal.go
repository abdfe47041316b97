package httpapi

import (
	"errors"
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
	err := json.Unmarshal(text, into)
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return &placedError{location(e.JSONPointer), misfit(e)}
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &placedError{location(e.JSONPointer), e.Err.Error() + " at byte " + strconv.FormatInt(e.ByteOffset, 10)}
	}
	return err
}

// misfit says in a caller's words why a value doesn't fit.
func misfit(e *json.SemanticError) string {
	switch e.GoType.Kind() {
	case reflect.Int, reflect.Int64:
		return "it must be a whole number of at most 64 bits, written without a point or an exponent"
	case reflect.Float64, reflect.Interface:
		return "it is out of a number's range"
	}
	reason := "it doesn't fit"
	if e.Err != nil {
		reason += ": " + e.Err.Error()
	}
	return reason
}

// placedError says where in the body something is wrong. The framework makes its
// own error of this one's text and puts "body" as the place, so the place travels
// in the text, and splitPlace takes it out again.
type placedError struct{ location, reason string }

const placeMark = "\x00"

func (e *placedError) Error() string { return e.location + placeMark + e.reason }

func splitPlace(e *huma.ErrorDetail) {
	if place, reason, ok := strings.Cut(e.Message, placeMark); ok {
		e.Location, e.Message, e.Value = place, reason, nil
	}
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
