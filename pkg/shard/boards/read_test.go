package boards_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// TestDamagedEntries checks that Entries returns damaged entries as an error beside the others, and that Top skips them.
func TestDamagedEntries(t *testing.T) {
	d := deploy(t)
	rankings, now := d.boards(d.Client, nil), libtest.Later
	submit(t, rankings, "b", now, "ann 1", "bob 2", "cat 3", "dan 4", "eve 5")
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for player, damage := range map[string]map[string]types.AttributeValue{
		"bob": {schema.RankKey: text("5")},
		"dan": {schema.EntryRowRev: text("x")},
		"eve": {schema.RankKey: text(boards.Place{Player: "ann", At: now}.RankKey())},
	} {
		it := d.Item(t, "L#b#all#"+player, "b")
		maps.Copy(it, damage)
		if _, err := d.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &d.Names.Items, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := rankings.Entries(libtest.Within(t), "b", "all", []string{"ann", "bob", "cat", "dan", "eve", "fay"}, now)
	damaged, ok := errors.AsType[boards.DamagedEntries](err)
	if !ok || len(damaged) != 3 || damaged["bob"] == nil || damaged["dan"] == nil || damaged["eve"] == nil {
		t.Errorf("error %v, want DamagedEntries of bob, dan and eve", err)
	}
	if len(found) != 2 || found["cat"].Player != "cat" || found["ann"].Rev == 0 {
		t.Errorf("Entries = %+v, want ann and cat", found)
	}
	if _, err := rankings.Entry(libtest.Within(t), "b", "all", "bob", now); err == nil || errors.Is(err, shard.ErrNotFound) {
		t.Errorf("Entry of bob: error %v, want one that is not ErrNotFound", err)
	}
	if places, err := rankings.Top(libtest.Within(t), "b", "all", 9, now); err != nil || len(places) == 0 || places[0].Player != "cat" {
		t.Errorf("Top = %+v, %v; want cat first", places, err)
	}
}
