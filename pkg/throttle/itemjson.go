package throttle

import (
	"encoding/base64"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/decimal"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// itemCodec has package json read attribute values in DynamoDB's JSON, and write the values of key attributes. A value
// of an unknown type is nil. Items are read token by token, in a third of the time that reflection takes.
var itemCodec = json.JoinOptions(
	json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(from *jsontext.Decoder, into *dynamo.Item) (err error) {
			*into, err = readItem(from)
			return err
		}),
		json.UnmarshalFromFunc(func(from *jsontext.Decoder, into *types.AttributeValue) (err error) {
			*into, err = readValue(from)
			return err
		}),
	)),
	json.WithMarshalers(json.MarshalToFunc(func(to *jsontext.Encoder, v types.AttributeValue) error {
		value := map[string]any{}
		if kind, content := keyContent(v); kind != "" {
			value[kind] = content
		}
		return json.MarshalEncode(to, value)
	})),
)

// readItem reads an item. It returns nil for null.
func readItem(from *jsontext.Decoder) (dynamo.Item, error) {
	if from.PeekKind() == 'n' {
		return nil, from.SkipValue()
	}
	it := dynamo.Item{}
	return it, readMembers(from, func(name string) (err error) {
		it[name], err = readValue(from)
		return err
	})
}

// readMembers calls readValue with the name of each member of an object. readValue must read the member's value.
func readMembers(from *jsontext.Decoder, readValue func(name string) error) error {
	if from.PeekKind() != '{' {
		return json.UnmarshalDecode(from, &struct{}{}) // fails, since the value is no object
	}
	if _, err := from.ReadToken(); err != nil {
		return err
	}
	for from.PeekKind() == '"' {
		name, err := from.ReadToken()
		if err != nil {
			return err
		}
		if err := readValue(name.String()); err != nil {
			return err
		}
	}
	_, err := from.ReadToken()
	return err
}

// readValue reads an attribute value. It returns nil for null and for unknown types.
func readValue(from *jsontext.Decoder) (v types.AttributeValue, err error) {
	if from.PeekKind() == 'n' {
		return nil, from.SkipValue()
	}
	err = readMembers(from, func(kind string) error {
		if from.PeekKind() == 'n' {
			return from.SkipValue()
		}
		known, err := readKind(from, kind)
		if known != nil {
			v = known
		}
		return err
	})
	return v, err
}

// readKind reads the content of an attribute value, such as the text of an "S". It returns nil for an unknown kind.
func readKind(from *jsontext.Decoder, kind string) (types.AttributeValue, error) {
	switch kind {
	case "S":
		v := &types.AttributeValueMemberS{}
		return v, readText(from, &v.Value)
	case "N":
		v := &types.AttributeValueMemberN{}
		return v, readText(from, &v.Value)
	case "B":
		v := &types.AttributeValueMemberB{}
		return v, json.UnmarshalDecode(from, &v.Value)
	case "SS":
		v := &types.AttributeValueMemberSS{}
		return v, json.UnmarshalDecode(from, &v.Value)
	case "NS":
		v := &types.AttributeValueMemberNS{}
		return v, json.UnmarshalDecode(from, &v.Value)
	case "BS":
		v := &types.AttributeValueMemberBS{}
		return v, json.UnmarshalDecode(from, &v.Value)
	case "L":
		v := &types.AttributeValueMemberL{}
		return v, json.UnmarshalDecode(from, &v.Value)
	case "M":
		v := &types.AttributeValueMemberM{}
		return v, json.UnmarshalDecode(from, &v.Value)
	case "BOOL":
		v := &types.AttributeValueMemberBOOL{}
		return v, json.UnmarshalDecode(from, &v.Value)
	case "NULL":
		v := &types.AttributeValueMemberNULL{}
		return v, json.UnmarshalDecode(from, &v.Value)
	}
	return nil, from.SkipValue()
}

// readText reads a string.
func readText(from *jsontext.Decoder, into *string) error {
	if from.PeekKind() != '"' {
		return json.UnmarshalDecode(from, into) // fails, since the value is no string
	}
	token, err := from.ReadToken()
	if err == nil {
		*into = token.String()
	}
	return err
}

// keyContent returns the type and the content of a key attribute's value, or "" for a type that no key has.
func keyContent(v types.AttributeValue) (kind string, content any) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return "S", v.Value
	case *types.AttributeValueMemberN:
		return "N", v.Value
	case *types.AttributeValueMemberB:
		return "B", v.Value
	}
	return "", nil
}

// computed stands for a value that only the engine knows.
var computed types.AttributeValue = &types.UnknownUnionMember{Tag: "computed"}

// keyText returns a key attribute's value as text: a string, a number's digits as [numberText] returns them, a binary
// value in base64. It returns false for a type that no key has, and "" and true for a computed value.
func keyText(v types.AttributeValue) (string, bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value, true
	case *types.AttributeValueMemberN:
		return numberText(v.Value), true
	case *types.AttributeValueMemberB:
		return base64.StdEncoding.EncodeToString(v.Value), true
	}
	return "", v == computed
}

// equalItems reports whether two items have equal values under the same names. A computed value equals no value.
func equalItems(a, b dynamo.Item) bool {
	return maps.EqualFunc(a, b, func(v, w types.AttributeValue) bool { return v != computed && dynamo.EqualValues(v, w) })
}

// numberText returns the same text for equal numbers. It returns other texts unchanged, which the engine will reject.
func numberText(text string) string {
	if n, ok := decimal.Parse(text); ok {
		return n.String()
	}
	return text
}
