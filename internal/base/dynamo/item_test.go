package dynamo_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// TestReads checks what each accessor returns for attributes of its type, of other types, and for missing ones.
func TestReads(t *testing.T) {
	it := dynamo.Key("p", "s")
	it["n"], it["half"], it["binary"] = dynamo.Number(1795240688424), &types.AttributeValueMemberN{Value: "0.5"}, &types.AttributeValueMemberB{Value: []byte("1")}
	for name, want := range map[string]struct {
		text, digits string
		whole        int64
		ok           bool
	}{
		"pk": {text: "p"}, "sk": {text: "s"}, "half": {digits: "0.5"}, "binary": {}, "none": {},
		"n": {digits: "1795240688424", whole: 1795240688424, ok: true},
	} {
		n, ok := dynamo.Whole(it, name)
		if text, digits := dynamo.Text(it, name), dynamo.Digits(it, name); text != want.text || digits != want.digits || n != want.whole || ok != want.ok {
			t.Errorf("%s: %q, %q, %d, %t; want %+v", name, text, digits, n, ok, want)
		}
		if at, known := dynamo.Millis(it, name); known != want.ok || known && at != time.Date(2026, 11, 21, 5, 58, 8, 424e6, time.UTC) {
			t.Errorf("%s: %v, %t", name, at, known)
		}
	}
	it["yes"] = &types.AttributeValueMemberBOOL{Value: true}
	if !dynamo.Truth(it, "yes") || dynamo.Truth(it, "n") || dynamo.Truth(nil, "yes") {
		t.Error("Truth is wrong for true, a number or a missing attribute")
	}
	if dynamo.Text(nil, "pk") != "" {
		t.Error("a nil item has a text")
	}
}
