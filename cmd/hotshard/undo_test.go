package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/busy"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestUndoOfWrongFormat checks that an undo with another format or layout than the programs' changes nothing. It would
// remove the name from the shard map, and no read would find the items on the write shards.
func TestUndoOfWrongFormat(t *testing.T) {
	endpoint := enginetest.Endpoint(t)
	client := dynamolocal.DynamoDB(endpoint, "")
	name := libtest.Theirs(t, client, "S")
	mapName := name + "-map"
	if err := setup.CreateShardMap(t.Context(), client, mapName); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{name, mapName} {
			_, _ = client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		}
	})
	shards := shardmap.New(client, mapName, shardmap.Options{})
	changer := shardmap.NewChanger(client, shards, shardmap.ChangerOptions{})
	busy.AnyTime(changer)
	if _, err := changer.Pin(t.Context(), "acme", 4, shardmap.Note{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"acme#SHARD_3", "acme#2026-01-05#SHARD_3"} {
		it := table.Item{"customer": libtest.Str(key), "placed": libtest.Str("order-1")}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	for _, wrong := range []struct{ format, shardMap, layout, want string }{
		{"#", mapName, "random", `No item has a partition key such as "acme#1". Check --format`},
		{"#", mapName, "buckets --bucket day", "#1\". Check --format"},
		{"#SHARD_", mapName, "buckets --bucket hour", "#SHARD_1\". Check --format"},
		{"#SHARD_", mapName + "s", "random", "There is no shard map"},
	} {
		args := []string{"adopt", "--undo", "acme", "--table", name, "--format", wrong.format, "--map", wrong.shardMap, "--endpoint", endpoint, "--layout"}
		code, out, errText := hotshard(t, append(args, strings.Fields(wrong.layout)...)...)
		if code != exitBad || out != "" || !strings.Contains(errText, wrong.want) {
			t.Errorf("%+v: exit %d with %q and %q", wrong, code, errText, out)
		}
	}
	code, out, errText := hotshard(t, "adopt", "--undo", "acne", "--table", name, "--format", "#SHARD_", "--map", mapName, "--endpoint", endpoint, "--layout", "random")
	if code != 0 || !strings.Contains(out, `the shard map does not have "acne". Check the name`) {
		t.Errorf("a name without write shards: exit %d with %q and %q", code, out, errText)
	}
	if e, err := shards.Read(t.Context(), "acme"); err != nil || e.History.Newest() != 4 {
		t.Errorf("the shard map has %d write shards, %v; want 4", e.History.Newest(), err)
	}
	for _, right := range []AdoptCmd{
		{Format: "#SHARD_", Layout: "random"},
		{Format: "#SHARD_", Layout: "buckets", undoing: undoing{Bucket: "day"}},
		{Format: "#", Layout: "random", undoing: undoing{Empty: true}},
	} {
		right.Table, right.Undo, right.Map, right.ReadUnits = name, "acme", mapName, 1000
		adopted, err := right.undoTable(t.Context(), client, shardmap.New(client, mapName, shardmap.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := right.checkWriteShards(t.Context(), client, adopted); err != nil {
			t.Errorf("format %s, layout %s: error %v, want none", right.Format, right.Layout, err)
		}
	}
}
