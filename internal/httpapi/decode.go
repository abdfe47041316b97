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

// Decode parses a request's body into a value. It returns all faults by the operation's schema, or else the first fault
// by the value's Go type, or nil. If the body is not JSON, it returns one fault, with status 400.
func Decode(ctx huma.Context, text []byte, into any) []error {
	var tree any
	treeFault := unmarshal(text, &tree, nil)
	typeFault := unmarshal(text, into, tree) // even after a syntax fault: resolvers validate the names that precede it
	if treeFault != nil {
		return []error{treeFault}
	}
	op := ctx.Operation()
	path, result := huma.NewPathBuffer([]byte("body"), len("body")), &huma.ValidateResult{}
	huma.Validate(op.Metadata[schemas].(huma.Registry), op.RequestBody.Content[jsonType].Schema, path, huma.ModeWriteToServer, tree, result)
	if typeFault != nil && result.Errors == nil {
		return []error{typeFault}
	}
	return result.Errors
}

// malformed is the fault of a body that is not JSON.
type malformed struct{ *detail }

// detail is embedded by this name, since a field named ErrorDetail would hide the method ErrorDetail.
type detail = huma.ErrorDetail

// GetStatus returns 400.
func (malformed) GetStatus() int { return http.StatusBadRequest }

// unmarshal parses JSON strictly. Invalid UTF-8 and lone surrogates are faults, since their replacement could make two names
// equal. Repeated names are faults, too. tree is the same JSON parsed, or nil. If a value has a wrong type and the parser's
// error lacks the value, the fault has it from tree.
func unmarshal(text []byte, into, tree any) error {
	err := json.Unmarshal(text, into, acceptWholeNumbers)
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return &huma.ErrorDetail{Location: location(e.JSONPointer), Message: typeMessage(e), Value: valueOf(e, tree)}
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return malformed{&detail{Location: location(e.JSONPointer), Message: e.Err.Error() + " at byte " + strconv.FormatInt(e.ByteOffset, 10)}}
	}
	if err != nil {
		return malformed{&detail{Location: "body", Message: err.Error()}}
	}
	return nil
}

// acceptWholeNumbers makes the parser accept whole numbers in every form, also 1.0 and 1e2.
var acceptWholeNumbers = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, n *int64) error { return readWhole(d, n) }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, n *int) error {
		var long int64
		err := readWhole(d, &long)
		*n = int(long) // 64 bits on Lambda
		return err
	}),
))

// callerText is an error whose text callers see.
type callerText string

func (t callerText) Error() string { return string(t) }

const errNotWhole callerText = "it must be a whole number of at most 64 bits"

// readWhole reads a whole number. It returns errors.ErrUnsupported for a value that is no number: the parser reads it.
func readWhole(decoder *jsontext.Decoder, into *int64) error {
	if decoder.PeekKind() != '0' { // the kind of all numbers
		return errors.ErrUnsupported
	}
	text, err := decoder.ReadValue()
	if err != nil {
		return err
	}
	n, ok := parseWhole(string(text))
	if !ok {
		return &json.SemanticError{JSONValue: text.Clone(), Err: errNotWhole}
	}
	*into = n
	return nil
}

// Bounds of the length of a whole number's text, which bound the arithmetic.
const (
	maxWhole    = 100 // characters
	maxExponent = 3   // characters after the e, with the sign
)

// parseWhole parses a number in any form, and reports whether it is a whole number of 64 bits.
func parseWhole(text string) (int64, bool) {
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

// typeMessage returns why a Go type rejects a JSON value, in the API's terms instead of Go's.
func typeMessage(err *json.SemanticError) string {
	if text, ok := errors.AsType[callerText](err); ok {
		return text.Error()
	}
	if kind := err.GoType.Kind(); kind == reflect.Float64 || kind == reflect.Interface {
		return "it is out of a number's range"
	}
	reason := "it doesn't fit"
	if err.Err != nil {
		reason += ": " + err.Err.Error()
	}
	return reason
}

// valueOf returns the rejected value, from the error or else from the parsed JSON; nil if it is unknown.
func valueOf(fault *json.SemanticError, tree any) any {
	if _, err := strconv.ParseFloat(string(fault.JSONValue), 64); errors.Is(err, strconv.ErrRange) {
		return string(fault.JSONValue) // the client may not be able to parse such a number
	}
	if fault.JSONValue == nil {
		return valueAtPointer(tree, fault.JSONPointer)
	}
	return fault.JSONValue
}

// valueAtPointer returns the value in parsed JSON that the pointer selects; nil if there is none.
func valueAtPointer(tree any, pointer jsontext.Pointer) any {
	for token := range pointer.Tokens() {
		switch in := tree.(type) {
		case map[string]any:
			tree = in[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			tree = in[i]
		default:
			return nil
		}
	}
	return tree
}

// location returns a JSON pointer in the form of validation errors: /events/0/time is body.events[0].time.
func location(pointer jsontext.Pointer) string {
	path := "body"
	for token := range pointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			path += "[" + token + "]"
		} else {
			path += "." + token
		}
	}
	return path
}
