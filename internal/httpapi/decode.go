package httpapi

import (
	"errors"
	"math/big"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schemas is the key of a registry of schemas in an operation's metadata.
const schemas = "schemas"

// Decode parses a request's body. It returns all faults by the operation's schema. If there are none, it returns the
// first value that its type rejects. A resolver of the call's input calls it.
func Decode(ctx huma.Context, text []byte, into any) []error {
	var tree any
	broken, unfit := unmarshal(text, &tree), unmarshal(text, into) // a broken body's first names are validated too
	if broken != nil {
		return []error{malformed{broken}}
	}
	op := ctx.Operation()
	at, found := huma.NewPathBuffer([]byte("body"), len("body")), &huma.ValidateResult{}
	huma.Validate(op.Metadata[schemas].(huma.Registry), op.RequestBody.Content[jsonType].Schema, at, huma.ModeWriteToServer, tree, found)
	if unfit != nil && found.Errors == nil {
		return []error{unfit}
	}
	return found.Errors
}

// malformed is the fault of a body that is no JSON.
type malformed struct{ *detail }

// detail is embedded by this name, since a field named ErrorDetail would hide the method.
type detail = huma.ErrorDetail

// GetStatus returns 400.
func (malformed) GetStatus() int { return http.StatusBadRequest }

// unmarshal parses JSON strictly: invalid UTF-8, lone surrogates and repeated names are errors, so that two different
// texts never mean the same name.
func unmarshal(text []byte, into any) *huma.ErrorDetail {
	err := json.Unmarshal(text, into, wholes)
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return &huma.ErrorDetail{Location: location(e.JSONPointer), Message: misfit(e), Value: valueOf(e)}
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &huma.ErrorDetail{Location: location(e.JSONPointer), Message: e.Err.Error() + " at byte " + strconv.FormatInt(e.ByteOffset, 10)}
	}
	if err != nil {
		return &huma.ErrorDetail{Location: "body", Message: err.Error()}
	}
	return nil
}

// wholes parses every whole number, also 1.0 and 1e2.
var wholes = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, n *int64) error { return readWhole(d, n) }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, n *int) error {
		var long int64
		err := readWhole(d, &long)
		*n = int(long) // 64 bits on Lambda
		return err
	}),
))

// fault is an error in a caller's words.
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

// Bounds of a whole number's text, which bound the arithmetic.
const (
	maxWhole    = 100
	maxExponent = 3
)

// whole parses a number in any form, and reports whether it is a whole number of 64 bits.
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

// misfit returns why a JSON value can't be decoded, in the API's terms instead of Go's.
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

// valueOf returns the value that doesn't fit; nil if it is unknown.
func valueOf(e *json.SemanticError) any {
	if _, err := strconv.ParseFloat(string(e.JSONValue), 64); errors.Is(err, strconv.ErrRange) {
		return string(e.JSONValue) // as a number it would be out of the client's range too
	}
	if e.JSONValue == nil {
		return nil
	}
	return e.JSONValue
}

// location returns a JSON pointer in the form of validation errors: /events/0/time is body.events[0].time.
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
