package query

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// TestForeignItemsAreNamed checks that an unreadable item among an entity's events is an error with the item's key.
func TestForeignItemsAreNamed(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	const stamp = "2026-01-05T12:30:00.000Z"
	for entity, sk := range map[string]string{"set": stamp + "#x", "time": "2026-01-05T12:30:00.0xxZ#x", "binary": stamp + "#\x01"} {
		r := newRig(t)
		r.putEvents(events.Event{Entity: entity, ID: "good", Time: at})
		item := dynamo.Item{
			"pk": dynamo.String("E#" + entity + "#2026-01-05#0"), "sk": dynamo.String(sk),
			"data": &types.AttributeValueMemberM{Value: dynamo.Item{"x": &types.AttributeValueMemberSS{Value: []string{"a"}}}},
		}
		if entity == "binary" {
			item["data"] = &types.AttributeValueMemberM{Value: dynamo.Item{"x": &types.AttributeValueMemberB{Value: []byte("a")}}}
		}
		r.putItem(r.names.Events, item)
		var p problem
		got := r.get("/v1/events?entity="+entity+"&from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z", &p)
		if got != 500 || !strings.Contains(p.Detail, strings.Trim(sk, "\x01")) {
			t.Errorf("%s: %d %s, want a 500 with %q", entity, got, p.Detail, sk)
		}
	}
}
