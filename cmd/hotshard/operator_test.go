package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestAuditRebuildReplay damages summaries and items, and checks what audit, rebuild and replay find, repair and report.
func TestAuditRebuildReplay(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	at := enginetest.Yesterday()
	for pk, value := range map[string]int{"C#a#1": 7, "C#b#1": 3} { // as writers with two write shards do
		putItem(t, d.db, d.names.Items, item{"pk": str(pk), "sk": str("+"), "rev": num(1e15), "value": num(value)})
	}
	for _, name := range []string{"C#a", "C#b"} {
		changer := libtest.Patient(shardmap.NewChanger(d.db, shardmap.New(d.db, d.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{}))
		_, err := changer.Pin(t.Context(), name, 2, libtest.Note, time.Now())
		require.NoError(t, err)
	}
	d.post("/v1/events", fmt.Sprintf(`{"events":[{"entity":"room/1","id":"x","time":%q,"data":{"t":1.5}},{"entity":"room/1","id":"y","time":%[1]q},`+
		`{"entity":"old","id":"x","time":"2020-01-05T12:00:00Z"}]}`, at.Format(time.RFC3339)))
	out, _ := d.run(exitOK, "audit")
	wantText(t, out, "summaries: 4 checked, 3 right, 0 repaired, 0 wrong or unknown, 1 too old to judge")

	d.damage(d.names.Rollups, "C#a#0", "-", "SET x1 = :x", item{":x": num(8)})
	d.damage(d.names.Items, "C#b#1", "+", "REMOVE rev", nil)
	d.awaitFailure("C#b#0")
	out, err := d.run(exitBad, "audit", "--wait", "0s")
	wantText(t, out+err, "│ counter │ a    │ write shard 1 │ wrong      │ 8 (rev ", "the item C#b#1: it has no rev", "2 of 4 summaries are wrong or unknown")
	out, _ = d.run(exitBad, "audit", "--wait", "0s", "--json", "--type", "counter", "--name", "a")
	var report rebuild.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Bad() != 1 || report.Findings[0].State != rebuild.Wrong || report.Findings[0].Summary.Value.Int64() != 8 {
		t.Errorf("report %s, %v; want one wrong summary of 8", out, err)
	}
	out, _ = d.run(exitOK, "audit", "--repair", "--type", "counter", "--name", "a")
	wantText(t, out, "wrong, repaired", "0 right, 1 repaired")
	out, err = d.run(exitBad, "rebuild", "--all")
	wantText(t, out+err, "1 of 4 summaries could not be rebuilt")

	out, err = d.run(exitBad, "replay")
	wantText(t, out+err, "C#b#0", "the item lacks rev or value", "failures: 1, 0 forgotten, 1 left", "1 of 1 failures are left")
	d.damage(d.names.Items, "C#b#1", "+", "SET rev = :r", item{":r": num(9e15)})
	pk, sk := schema.FailureKey(schema.UnknownTarget("shardId-1", "17"))
	d.damage(d.names.Rollups, pk, sk, "SET last_at = :at", item{":at": num(5)})
	out, err = d.run(exitBad, "replay")
	wantText(t, out+err, "?shardId-1#17", "Run hotshard audit --repair, then hotshard replay --forget with", "failures: 2, 1 forgotten, 1 left")
	out, _ = d.run(exitBad, "replay", "--forget", "1970-01-01T00:00:00Z")
	wantText(t, out, "failures: 1, 0 forgotten, 1 left")
	out, _ = d.run(exitOK, "audit", "--repair")
	_, begun, _ := strings.Cut(strings.TrimSpace(out), "\nstarted at ")
	out, _ = d.run(exitOK, "replay", "--forget", begun, "--json")
	var r replayed
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Failures != 1 || r.Forgotten != 1 || len(r.Left) != 0 || r.Report.Targets != 0 {
		t.Errorf("replayed %s, %v; want one failure forgotten", out, err)
	}

	given := filepath.Join(t.TempDir(), "given")
	payload := `{"Records":[{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"pk":{"S":"C#a#1"},"sk":{"S":"+"}}}},{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1"}}]}`
	require.NoError(t, os.WriteFile(given, fmt.Appendf(nil, `{"payload":%s}`, payload), 0o600))
	d.damage(d.names.Rollups, "C#a#0", "-", "SET x1 = :x", item{":x": num(9)})
	code, out, err := hotshard(t, append([]string{"replay", given}, d.flags...)...)
	if code != exitOK || !strings.Contains(err, "1 of 2 records name no key") || !strings.Contains(out, "wrong, repaired") {
		t.Errorf("replay of a file: exit %d with %q and %s", code, err, out)
	}
	pk, sk = schema.FailureKey("E#old#2020-01-05T12")
	d.damage(d.names.Rollups, pk, sk, "SET last_at = :at", item{":at": num(5)})
	out, _ = d.run(exitBad, "replay")
	wantText(t, out, "1 too old to judge", "failures: 1, 0 forgotten, 1 left")
	out, _ = d.run(exitOK, "replay", "--forget", begun)
	wantText(t, out, "failures: 1, 1 forgotten, 0 left")
	out, err = d.run(exitBad, "rebuild", "--type", "entity", "--name", "old", "--from", "2020-01-05T12:00:00Z", "--to", "2020-01-05T13:00:00Z")
	wantText(t, out+err, "1 of 1 summaries are older than the retention")
	out, _ = d.run(exitOK, "rebuild", "--all", "--event-retention", "0")
	wantText(t, out, "summaries: 4 checked, 4 right")

	d.remove(d.names.Events, "E#room/1#"+at.Format(time.DateOnly)+"#0", schema.EventSortKey(at, "x"))
	for _, command := range []string{"audit --repair", "rebuild --all"} {
		out, _ = d.run(exitBad, strings.Fields(command)...)
		wantText(t, out, "fewer ", "2 events", "events were deleted or have expired")
	}
	out, _ = d.run(exitOK, "audit", "--repair", "--fewer")
	wantText(t, out, "fewer, repaired", "1 repaired")
}

// TestReplayPrintsPartialResults checks that results are printed even if the last call fails.
func TestReplayPrintsPartialResults(t *testing.T) {
	endpoint := enginetest.Endpoint(t)
	prefix := enginetest.Prefix("replay")
	d := &deployed{t: t, db: dynamolocal.DynamoDB(endpoint, ""), names: schema.NamesFor(prefix), flags: []string{"--endpoint", endpoint, "--prefix", prefix}}
	require.NoError(t, dynamolocal.CreateTables(t.Context(), d.db, d.names))
	drop := func(table string) {
		if _, err := d.db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		drop(d.names.Items)
		drop(d.names.Events)
		drop(d.names.Rollups)
		drop(dynamolocal.CheckpointTable(d.names))
	})
	drop(d.names.ShardMap)
	first := ""
	for i := 0; !strings.HasPrefix(first, schema.FailurePrefix+"0"); i++ {
		pk, sk := schema.FailureKey(fmt.Sprintf("E#e%d#2026-01-05", i)) // by the day, for which there is no rule
		if first = pk; strings.HasSuffix(pk, "#0") {
			d.damage(d.names.Rollups, pk, sk, "SET last_at = :at", item{":at": num(5)})
		}
	}
	for i := 0; ; i++ {
		if pk, sk := schema.FailureKey(fmt.Sprintf("C#c%d#0", i)); !strings.HasSuffix(pk, "#0") {
			d.damage(d.names.Rollups, pk, sk, "SET last_at = :at", item{":at": num(5)})
			break
		}
	}
	out, err := d.run(exitBad, "replay", "--concurrency", "1")
	wantText(t, out+err, "no rule rolls up its events by the day", "failures: 2, 0 forgotten, 2 left", "no tables of hotshard with the prefix")
}
