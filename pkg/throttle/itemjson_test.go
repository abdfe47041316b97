package throttle

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// decodeItem decodes as the limiter does, and reports whether it can.
func decodeItem(text []byte, into any) bool { return json.Unmarshal(text, into, itemCodec) == nil }

// TestInvalidNumbersAreUnchanged checks that a number which the engine rejects is not normalized.
func TestInvalidNumbersAreUnchanged(t *testing.T) {
	for _, text := range []string{"", "x", "1e", "1ex", "1e999999999999999999999"} {
		if got := numberText(text); got != text {
			t.Errorf("numberText(%q) = %q", text, got)
		}
	}
}

// TestSortKeysAreInOrder checks that Order compares keys as DynamoDB does.
func TestSortKeysAreInOrder(t *testing.T) {
	number := func(digits string) types.AttributeValue { return dynamo.Decimal(digits) }
	binary := func(b ...byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
	for _, list := range [][]types.AttributeValue{
		{number("-1e20"), number("-10"), number("-9"), number("-0.5"), number("0"), number("1e-5"), number("9"), number("10"), number("1e20")},
		{dynamo.String(""), dynamo.String("2026-01"), dynamo.String("2026-02"), dynamo.String("é")},
		{binary(0), binary(0, 1), binary(1), binary(255)},
	} {
		if !slices.IsSortedFunc(list, func(a, b types.AttributeValue) int { return strings.Compare(sortText(a), sortText(b)) }) {
			t.Errorf("Order does not keep the order of %v", list)
		}
		if sortText(list[0]) == sortText(list[1]) {
			t.Errorf("Order of %v and %v is equal", list[0], list[1])
		}
	}
	if sortText(number("-0")) != sortText(number("0.0")) {
		t.Error("Order of -0 and 0.0 differs")
	}
}

// TestKeyTexts checks that all forms of a key have the same text.
func TestKeyTexts(t *testing.T) {
	tests := []struct {
		value, want string
		ok          bool
	}{
		{`{"S":"a"}`, "a", true},
		{`{"S":"\u0061"}`, "a", true},
		{`{"N":"1.50"}`, "1.5", true},
		{`{"B":"AQI="}`, "AQI=", true},
		{`{"BOOL":true}`, "", false},
		{`{}`, "", false},
	}
	for _, test := range tests {
		var v types.AttributeValue
		if !decodeItem([]byte(test.value), &v) {
			t.Fatalf("%s can't be decoded", test.value)
		}
		if got, ok := keyText(v); got != test.want || ok != test.ok {
			t.Errorf("Text(%s) = %q, %t; want %q, %t", test.value, got, ok, test.want, test.ok)
		}
	}
}
