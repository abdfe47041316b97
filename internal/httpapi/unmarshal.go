package httpapi

import (
	"errors"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// unmarshal reads JSON strictly: invalid UTF-8, lone surrogates and repeated
// names are errors, so that no two texts stand for one name by accident. Errors
// name the place in the body.
func unmarshal(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		reason := "it doesn't fit " + strings.TrimPrefix(e.GoType.String(), "*")
		if e.Err != nil {
			reason += ": " + e.Err.Error()
		}
		return &huma.ErrorDetail{Location: location(e.JSONPointer), Message: reason, Value: string(e.JSONValue)}
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		reason := e.Err.Error() + " at byte " + strconv.FormatInt(e.ByteOffset, 10)
		return &huma.ErrorDetail{Location: location(e.JSONPointer), Message: reason}
	}
	return err
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
