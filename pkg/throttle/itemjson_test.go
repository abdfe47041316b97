package throttle

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json"
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
