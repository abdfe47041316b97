package ddb_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// TestDamagedEntries are left out, each by itself, of what is read of the table and
// of the index.
func TestDamagedEntries(t *testing.T) {
	d := deploy(t)
	boards, now := d.boards(d.client, ddb.Unwatched{}), later
	submit(t, boards, "b", now, "ann 1", "bob 2", "cat 3", "dan 4", "eve 5")
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for player, damage := range map[string]map[string]types.AttributeValue{
		"bob": {schema.RankKey: text("5")},
		"dan": {schema.EntryRev: text("x")},
		"eve": {schema.RankKey: text(ddb.Place{Player: "ann", At: now}.RankKey())},
	} {
		it := d.item(t, "L#b#all#"+player, "b")
		maps.Copy(it, damage)
		if _, err := d.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &d.names.Items, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := boards.Entries(within(t), "b", "all", []string{"ann", "bob", "cat", "dan", "eve", "fay"}, now)
	damaged, ok := errors.AsType[ddb.DamagedEntries](err)
	if !ok || len(damaged) != 3 || damaged["bob"] == nil || damaged["dan"] == nil || damaged["eve"] == nil {
		t.Errorf("damaged: %v", err)
	}
	if len(found) != 2 || found["cat"].Player != "cat" || found["ann"].Rev == 0 {
		t.Errorf("found %+v", found)
	}
	if _, _, err := boards.Entry(within(t), "b", "all", "bob", now); err == nil || errors.Is(err, ddb.ErrNotFound) {
		t.Errorf("bob: %v", err)
	}
	if places, err := boards.Top(within(t), "b", "all", 9, now); err != nil || len(places) == 0 || places[0].Player != "cat" {
		t.Errorf("%+v, %v", places, err)
	}
}
