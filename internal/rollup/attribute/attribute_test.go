package attribute_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
)

func TestReads(t *testing.T) {
	it := attribute.Key("p", "s")
	it["n"], it["half"], it["binary"] = attribute.Number(1795240688424), &types.AttributeValueMemberN{Value: "0.5"}, &types.AttributeValueMemberB{Value: []byte("1")}
	for name, want := range map[string]struct {
		text, digits string
		whole        int64
		ok           bool
	}{
		"pk": {text: "p"}, "sk": {text: "s"}, "half": {digits: "0.5"}, "binary": {}, "none": {},
		"n": {digits: "1795240688424", whole: 1795240688424, ok: true},
	} {
		n, ok := attribute.WholeOf(it, name)
		if text, digits := attribute.TextOf(it, name), attribute.DigitsOf(it, name); text != want.text || digits != want.digits || n != want.whole || ok != want.ok {
			t.Errorf("%s: %q, %q, %d, %t", name, text, digits, n, ok)
		}
		if at, known := attribute.TimeOf(it, name); known != want.ok || known && at != time.Date(2026, 11, 21, 5, 58, 8, 424e6, time.UTC) {
			t.Errorf("%s: %v, %t", name, at, known)
		}
	}
	if attribute.TextOf(nil, "pk") != "" {
		t.Error("no item has text")
	}
}
