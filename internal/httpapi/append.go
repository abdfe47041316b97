package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendDocument appends the document's JSON text, with its names sorted.
func AppendDocument(to []byte, object Document) ([]byte, error) {
	return appendObject(to, object)
}

func appendValue(to []byte, value types.AttributeValue) ([]byte, error) {
	switch v := value.(type) {
	case *types.AttributeValueMemberNULL:
		return append(to, "null"...), nil
	case *types.AttributeValueMemberBOOL:
		return fmt.Append(to, v.Value), nil
	case *types.AttributeValueMemberS:
		return jsontext.AppendQuote(to, v.Value)
	case *types.AttributeValueMemberN:
		if !json.Valid([]byte(v.Value)) {
			return nil, fmt.Errorf("httpapi: %q is not a JSON number", v.Value)
		}
		return append(to, v.Value...), nil
	case *types.AttributeValueMemberL:
		return appendList(to, v.Value)
	case *types.AttributeValueMemberM:
		return appendObject(to, v.Value)
	}
	return nil, fmt.Errorf("httpapi: no JSON for %T", value)
}

func appendList(to []byte, list []types.AttributeValue) (_ []byte, err error) {
	to = append(to, '[')
	for i, v := range list {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = appendValue(to, v); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

func appendObject(to []byte, object Document) (_ []byte, err error) {
	to = append(to, '{')
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = jsontext.AppendQuote(to, name); err != nil {
			return nil, err
		}
		if to, err = appendValue(append(to, ':'), object[name]); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}
