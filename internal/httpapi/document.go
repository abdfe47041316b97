package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/danielgtaylor/huma/v2"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/decimal"
)

// Object is the unparsed text of a JSON object; nil for none.
type Object struct{ json.RawMessage }

// Schema describes the object in the OpenAPI document.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "Any JSON object of up to 400 KB"}
}

// Document is a JSON object as DynamoDB stores it.
type Document = map[string]types.AttributeValue

// DocumentError reports a value that DynamoDB can't store. Path is the value's path in the document, as in
// "readings[3].value"; "" is the document itself. Value is the number's text, or nil for other values.
type DocumentError struct {
	Path   string
	Reason string
	Value  any
}

func (e *DocumentError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// maxName bounds a field's name, in bytes. DynamoDB Local responds with 500 to a longer name, DynamoDB from 64 KB on.
const maxName = 50_000

// maxDocumentDepth bounds the nesting of lists and maps, including the document. DynamoDB allows 32,
// with the attribute.
const maxDocumentDepth = 31

// ParseDocument reads one JSON object. Its errors are of type [*DocumentError].
func ParseDocument(text []byte) (Document, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, &DocumentError{Reason: err.Error()}
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, &DocumentError{Reason: "text follows the object"}
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, &DocumentError{Reason: "it must be an object"}
	}
	av, err := convertObject(object, "", maxDocumentDepth-1)
	if err != nil {
		return nil, err
	}
	return av.Value, nil
}

// convert returns a JSON value as DynamoDB stores it, or an error with its path. It may nest depth lists and maps.
func convert(value any, path string, depth int) (types.AttributeValue, error) {
	switch v := value.(type) {
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case string:
		return &types.AttributeValueMemberS{Value: v}, nil
	case json.Number:
		if reason := numberFault(v.String()); reason != "" {
			return nil, &DocumentError{path, reason, v.String()}
		}
		return &types.AttributeValueMemberN{Value: plainZero(v.String())}, nil
	}
	if depth == 0 {
		return nil, &DocumentError{Path: path, Reason: fmt.Sprintf("it is nested deeper than %d levels", maxDocumentDepth)}
	}
	if list, ok := value.([]any); ok {
		return convertList(list, path, depth-1)
	}
	return convertObject(value.(map[string]any), path, depth-1)
}

func convertList(list []any, path string, depth int) (types.AttributeValue, error) {
	out := make([]types.AttributeValue, len(list))
	for i, v := range list {
		av, err := convert(v, path+"["+strconv.Itoa(i)+"]", depth)
		if err != nil {
			return nil, err
		}
		out[i] = av
	}
	return &types.AttributeValueMemberL{Value: out}, nil
}

func convertObject(object map[string]any, path string, depth int) (*types.AttributeValueMemberM, error) {
	out := make(Document, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "" {
			return nil, &DocumentError{Path: path, Reason: "a field's name is empty"}
		}
		if len(name) > maxName {
			return nil, &DocumentError{Path: path, Reason: fmt.Sprintf("a field's name is longer than %d bytes", maxName)}
		}
		av, err := convert(object[name], strings.TrimPrefix(path+"."+name, "."), depth)
		if err != nil {
			return nil, err
		}
		out[name] = av
	}
	return &types.AttributeValueMemberM{Value: out}, nil
}

// plainZero returns "0" for any form of zero, and other numbers unchanged. So readers of items need not parse a zero
// with a long exponent, which JSON allows.
func plainZero(number string) string {
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	if strings.Trim(mantissa, "-0.") == "" {
		return "0"
	}
	return number
}

// Bounds of DynamoDB's numbers.
const (
	maxDigits           = 38
	maxDocumentExponent = 125  // of ten, for the first digit
	minExponent         = -130 // of ten, for the first digit
	maxLength           = 512  // of a number's text; excludes exponents of many digits
)

// numberFault returns why DynamoDB can't store a JSON number, or "" if it can.
func numberFault(number string) string {
	if len(number) > maxLength {
		return "the number is longer than 512 characters"
	}
	if plainZero(number) == "0" {
		return ""
	}
	n, ok := decimal.Parse(number) // fails only for exponents beyond 1,000
	digits, power, _ := n.Parts()
	exponent := power + len(digits) - 1 // of the first digit
	switch {
	case !ok || exponent > maxDocumentExponent || exponent < minExponent:
		return "the number is outside 1e-130 to 1e126"
	case len(digits) > maxDigits:
		return fmt.Sprintf("the number has more than %d digits", maxDigits)
	}
	return ""
}

// FormatDocument returns the document's JSON text, with sorted names. It returns an error for sets and binary values.
func FormatDocument(object Document) ([]byte, error) {
	return jsonv2.Marshal(object, jsonv2.Deterministic(true), attributeValues)
}

// attributeValues encodes attribute values as JSON.
var attributeValues = jsonv2.WithMarshalers(jsonv2.MarshalToFunc(func(e *jsontext.Encoder, value types.AttributeValue) error {
	switch v := value.(type) {
	case *types.AttributeValueMemberNULL:
		return e.WriteToken(jsontext.Null)
	case *types.AttributeValueMemberBOOL:
		return e.WriteToken(jsontext.Bool(v.Value))
	case *types.AttributeValueMemberS:
		return e.WriteToken(jsontext.String(v.Value))
	case *types.AttributeValueMemberN:
		return e.WriteValue(jsontext.Value(v.Value))
	case *types.AttributeValueMemberL:
		return jsonv2.MarshalEncode(e, v.Value)
	case *types.AttributeValueMemberM:
		return jsonv2.MarshalEncode(e, v.Value)
	}
	return fmt.Errorf("httpapi: an attribute value of type %T has no JSON form", value)
}))
