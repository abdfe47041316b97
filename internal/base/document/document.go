// Package document turns JSON objects into DynamoDB maps and back, without loss:
// numbers keep all their digits.
//
//	data, err := document.Parse([]byte(`{"temperature":21.5}`))
//	text, err := document.Append(nil, data)
//
// A value that DynamoDB can't store is an error that names its path: numbers of more than 38
// digits or outside 1e-130 to 1e126, names that are empty or of more than 50,000 bytes, more than 32 levels.
package document

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

	"github.com/hotshard/hotshard/internal/base/decimal"
)

// Object is a document: a JSON object as DynamoDB stores it.
type Object = map[string]types.AttributeValue

// Error reports a value that DynamoDB can't store. Path is the value's path in the document, as in
// "readings[3].value"; "" is the document itself. Value is the number's text, or nil for other values.
type Error struct {
	Path   string
	Reason string
	Value  any
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// maxName bounds a field's name, in bytes. DynamoDB Local responds with 500 to longer ones, DynamoDB from 64 KB on.
const maxName = 50_000

// maxDepth bounds the nesting of lists and maps, including the document. Its attribute is one more level, and DynamoDB
// allows 32.
const maxDepth = 31

// Parse reads one JSON object. Its errors are of type [*Error].
func Parse(text []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, &Error{Reason: "text follows the object"}
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, &Error{Reason: "it must be an object"}
	}
	av, err := convertObject(object, "", maxDepth-1)
	if err != nil {
		return nil, err
	}
	return av.Value, nil
}

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
			return nil, &Error{path, reason, v.String()}
		}
		return &types.AttributeValueMemberN{Value: plainZero(v.String())}, nil
	}
	if depth == 0 {
		return nil, &Error{Path: path, Reason: fmt.Sprintf("it is nested deeper than %d levels", maxDepth)}
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
	out := make(Object, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "" {
			return nil, &Error{Path: path, Reason: "a field's name is empty"}
		}
		if len(name) > maxName {
			return nil, &Error{Path: path, Reason: fmt.Sprintf("a field's name is longer than %d bytes", maxName)}
		}
		av, err := convert(object[name], strings.TrimPrefix(path+"."+name, "."), depth)
		if err != nil {
			return nil, err
		}
		out[name] = av
	}
	return &types.AttributeValueMemberM{Value: out}, nil
}

// plainZero returns 0 for any form of zero, and other numbers as they are. JSON allows zeros with exponents of any
// length, which readers of items then need not parse.
func plainZero(number string) string {
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	if strings.Trim(mantissa, "-0.") == "" {
		return "0"
	}
	return number
}

// Bounds of DynamoDB's numbers.
const (
	maxDigits   = 38
	maxExponent = 125  // of the first digit
	minExponent = -130 // of the first digit
	maxLength   = 512  // bounds the text, and so excludes exponents of many digits
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
	first := power + len(digits) - 1
	switch {
	case !ok || first > maxExponent || first < minExponent:
		return "the number is outside 1e-130 to 1e126"
	case len(digits) > maxDigits:
		return fmt.Sprintf("the number has more than %d digits", maxDigits)
	}
	return ""
}
