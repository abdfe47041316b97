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

// TestUndoOfWrongFormat checks that an undo by another format than the programs' changes nothing: it would remove the
// name from the shard map, and no read would find the items on the write shards.
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
	it := table.Item{"customer": libtest.Str("acme#SHARD_3"), "placed": libtest.Str("order-1")}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []struct{ format, shardMap, want string }{
		{"#", mapName, `No item has a partition key from "acme#1" to "acme#3". Check --format`},
		{"#SHARD_", mapName + "s", "There is no shard map"},
	} {
		code, out, errText := hotshard(t, "adopt", "--undo", "acme", "--table", name, "--format", wrong.format, "--map", wrong.shardMap, "--layout", "random", "--endpoint", endpoint)
		if code != exitBad || out != "" || !strings.Contains(errText, wrong.want) {
			t.Errorf("exit %d with %q and %q, want %q", code, errText, out, wrong.want)
		}
	}
	if e, err := shards.Read(t.Context(), "acme"); err != nil || e.History.Newest() != 4 {
		t.Errorf("the shard map has %d write shards, %v", e.History.Newest(), err)
	}
	for format, empty := range map[string]bool{"#SHARD_": false, "#": true} {
		c := AdoptCmd{Table: name, Format: format, Layout: "random", undoing: undoing{Undo: "acme", Map: mapName, Empty: empty}}
		adopted, err := c.undoTable(t.Context(), client, shardmap.New(client, mapName, shardmap.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.checkWriteShards(t.Context(), adopted); err != nil {
			t.Errorf("format %s, empty %v: %v", format, empty, err)
		}
	}
}
