package query

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard/events"
)

// TestForeignItemsAreNamed: an item among an entity's events that can't be read is no
// event that is left out in silence, and the answer tells which item it is.
func TestForeignItemsAreNamed(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	const stamp = "2026-01-05T12:30:00.000Z"
	for entity, sk := range map[string]string{"set": stamp + "#x", "time": "2026-01-05T12:30:00.0xxZ#x", "binary": stamp + "#\x01"} {
		r := newRig(t)
		r.put(events.Event{Entity: entity, ID: "good", Time: at})
		item := map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "E#" + entity + "#2026-01-05#0"}, "sk": &types.AttributeValueMemberS{Value: sk},
			"data": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"x": &types.AttributeValueMemberSS{Value: []string{"a"}}}},
		}
		if entity == "binary" {
			item["data"] = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"x": &types.AttributeValueMemberB{Value: []byte("a")}}}
		}
		if _, err := r.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Events, Item: item}); err != nil {
			t.Fatal(err)
		}
		var problem struct{ Detail string }
		got := r.get("/v1/events?entity="+entity+"&from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z", &problem)
		if got != 500 || !strings.Contains(problem.Detail, strings.Trim(sk, "\x01")) {
			t.Errorf("%s: %d %s", entity, got, problem.Detail)
		}
	}
}
