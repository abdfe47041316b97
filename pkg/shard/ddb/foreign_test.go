package ddb_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// foreign puts an item that has only its key.
func (d *deployment) foreign(t *testing.T, pk, sk string) {
	t.Helper()
	item := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
	if _, err := d.client.PutItem(within(t), &dynamodb.PutItemInput{TableName: &d.names.Items, Item: item}); err != nil {
		t.Fatal(err)
	}
}

// TestForeignItemsAreTakenOver: what somebody else put where a board's settings or a
// session belongs, and that says nothing, is in nobody's way.
func TestForeignItemsAreTakenOver(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	pk, sk := schema.SettingsKey("b")
	d.foreign(t, pk, sk)
	boards := d.boards(d.client, ddb.Unwatched{})
	submit(t, boards, "b", later, "ann 1")
	if s, err := boards.Settings(within(t), "b", later); err != nil || s.Mode != ddb.Best || s.Size != schema.DefaultBoardSize {
		t.Errorf("%+v, %v", s, err)
	}
	for _, id := range []string{"put", "kept"} {
		pk, sk = schema.SessionKey("g", id, 0)
		d.foreign(t, pk, sk)
	}
	s := d.sessions(d.client, ddb.Unwatched{})
	put(t, s, ddb.Lease{Group: "g", ID: "put", TTL: time.Hour}, later)
	reader := ddb.NewSessionReader(d.client, d.names.Items, d.shards)
	checkActive(t, reader, "g", later, 1)
	for _, id := range []string{"put", "kept"} {
		if err := s.End(within(t), "g", id, later); err != nil {
			t.Errorf("ending %s: %v", id, err)
		}
	}
	checkActive(t, reader, "g", later, 0)
}
