package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestDelete checks that delete needs --yes, what --json prints, and that only the counter is deleted.
func TestDelete(t *testing.T) {
	t.Parallel()
	db, names, flags := tablesAt(t)
	shards := shardmap.New(db, names.ShardMap, shardmap.Options{})
	writer := counters.NewWriter(db, names.Items, shards, counters.Options{})
	for range 3 {
		for _, name := range []string{"page/home", "page/about"} {
			require.NoError(t, writer.Add(t.Context(), name, 1, time.Now()))
		}
	}
	args := append([]string{"delete", "--type", "counter", "--name", "page/home"}, flags...)
	code, out, err := hotshard(t, args...)
	if code != exitBad || out != "" || !strings.Contains(err, `to delete counter "page/home" and everything that belongs to it, add --yes`) {
		t.Errorf("without --yes: exit %d with %s%s", code, out, err)
	}
	code, out, err = hotshard(t, append(args, "--yes", "--json")...)
	var report rebuild.Erased
	if jsonErr := json.Unmarshal([]byte(out), &report); jsonErr != nil || code != exitOK || report.Deleted[rebuild.WriteShards] != 1 {
		t.Errorf("--yes --json: exit %d with %s%s", code, out, err)
	}
	code, out, _ = hotshard(t, append(args, "--yes")...)
	if code != exitOK || out != "nothing of counter \"page/home\" is stored\n" {
		t.Errorf("a second delete: exit %d with %s", code, out)
	}
	items, scanErr := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: &names.Items})
	if scanErr != nil || len(items.Items) != 1 {
		t.Errorf("items %v are left, %v; want that of page/about", items.Items, scanErr)
	}
}

// TestDeleteReportsRest checks that a delete is not complete while no aggregator runs, since a rollup may still change.
func TestDeleteReportsRest(t *testing.T) {
	t.Parallel()
	db, names, flags := tablesAt(t)
	list := events.NewWriter(db, names.Events, shardmap.New(db, names.ShardMap, shardmap.Options{}), events.Options{})
	require.NoError(t, list.Put(t.Context(), []events.Event{{Entity: "x", ID: "1", Time: time.Now()}}, time.Now())[0])
	args := append(strings.Fields("delete --type entity --name x --yes --wait 1s"), flags...)
	for _, list := range []string{"│       1 │ events", "nothing of entity \"x\" is stored"} { // repeated
		code, out, err := hotshard(t, args...)
		if code != exitBad || !strings.Contains(out, list) || !strings.Contains(out, "markers did not come through the stream within 1s") ||
			!strings.Contains(err, "the delete is not complete") {
			t.Errorf("exit %d with %s%s, want %s", code, out, err, list)
		}
	}
}

// TestShowsKeptAndLeft checks the lines for what a delete keeps, and for what it could not delete.
func TestShowsKeptAndLeft(t *testing.T) {
	var out bytes.Buffer
	c := DeleteCmd{baseKey: baseKey{Type: "counter", Name: "x"}}
	report := rebuild.Erased{Deleted: map[rebuild.Trace]int{rebuild.WriteShards: 2}, Kept: []string{"1 write shard"}, Left: []string{"the rest"}}
	if err := c.printReport(&out, &report); err != nil || !strings.HasSuffix(out.String(), "\nkept: 1 write shard\nleft: the rest\n") ||
		!strings.Contains(out.String(), `of counter "x"`) {
		t.Errorf("output %s, %v", &out, err)
	}
}

func TestDeletesWrongUsageIsOneLine(t *testing.T) {
	checkOneLine(t, exitUsage, "delete ", map[string]string{
		"--type counter --name=":                "--name must not be empty",
		"--type book --name x":                  "--type must be one of",
		"--type counter --name x --player y":    "--player needs --type board",
		"--type counter --name x --settle 1ms":  "--settle 1ms: want 1s to 1h",
		"--type counter --name x --wait 2h":     "--wait 2h0m0s: want 1s to 1h",
		"--type board --name x --index-lag 0s":  "--index-lag 0s: want 1s to 1h",
		"--type entity --name x --read-units 0": "--read-units 0: want 1 to 1000000",
		"--type board --name x --write-units 0": "--write-units 0: want 1 to 1000000",
		"--type counter --name x --endpoint hm": `endpoint "hm": want a URL`,
	})
	for _, kind := range []string{"counter", "entity", "board", "sessions"} {
		checkOneLine(t, exitBad, "delete --yes --prefix nowhere- --endpoint "+enginetest.Endpoint(t), map[string]string{
			" --name x --type " + kind: `no tables of hotshard with the prefix "nowhere-"`,
		})
	}
}
