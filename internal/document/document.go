// Package document turns JSON objects into DynamoDB maps and back, without loss:
// numbers keep all their digits.
//
//	data, err := document.Parse([]byte(`{"temperature":21.5}`))
//	text, err := document.Append(nil, data)
//
// What DynamoDB can't hold is an error that names the place: numbers of more
// than 38 digits or outside 1e-130 to 1e126, empty names, more than 32 levels.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Object is a document: a JSON object as DynamoDB stores it.
type Object = map[string]types.AttributeValue

// Error says which part of a document DynamoDB can't hold. Path is relative to
// the document, as in "readings[3].value"; "" is the document itself. Value is the
// number there, nil for what is none.
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

// maxDepth is how many lists and maps may stand inside each other, the document
// itself included. Its attribute is the 32nd level, DynamoDB's last.
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
		return nil, &Error{Reason: "there is something after the object"}
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
		if reason := unfit(v.String()); reason != "" {
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
		av, err := convert(object[name], strings.TrimPrefix(path+"."+name, "."), depth)
		if err != nil {
			return nil, err
		}
		out[name] = av
	}
	return &types.AttributeValueMemberM{Value: out}, nil
}

// plainZero is 0 for a number that is zero in any form. An exponent of any length is
// one of JSON's forms, and no reader of items needs to take it.
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
)

// unfit says why DynamoDB can't hold a JSON number, or "".
func unfit(number string) string {
	if len(number) > 512 {
		return "the number is longer than 512 characters"
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(number, "-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "" // zero
	}
	shift := new(big.Int)
	if exponent != "" {
		shift.SetString(exponent, 10)
	}
	lead := int64(len(digits) - len(fraction) - 1)
	first := shift.Add(shift, big.NewInt(lead))
	if first.Cmp(big.NewInt(maxExponent)) > 0 || first.Cmp(big.NewInt(minExponent)) < 0 {
		return "the number is outside 1e-130 to 1e126"
	}
	if len(strings.TrimRight(digits, "0")) > maxDigits {
		return fmt.Sprintf("the number has more than %d digits", maxDigits)
	}
	return ""
}
