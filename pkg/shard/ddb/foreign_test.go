package ddb_test

import (
	"testing"

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

// TestForeignItemsAreTakenOver: what somebody else put where a board's settings belong, and
// that says nothing, is in nobody's way.
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
}
