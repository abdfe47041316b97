package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestCheck damages summaries and items, and checks what hotshard check finds, repairs, forgets and reports.
func TestCheck(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	at := enginetest.Yesterday()
	for pk, value := range map[string]int{"C#a#1": 7, "C#b#1": 3} { // as writers with two write shards do
		enginetest.Put(t, d.db, d.names.Items, item{"pk": str(pk), "sk": str("+"), "rev": num(1e15), "value": num(value)})
	}
	for _, name := range []string{"C#a", "C#b"} {
		changer := libtest.Patient(shardmap.NewChanger(d.db, shardmap.New(d.db, d.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{}))
		_, err := changer.Pin(t.Context(), name, 2, libtest.Note, time.Now())
		require.NoError(t, err)
	}
	d.post("/v1/events", fmt.Sprintf(`{"events":[{"entity":"room/1","id":"x","time":%q,"data":{"t":1.5}},{"entity":"room/1","id":"y","time":%[1]q},`+
		`{"entity":"old","id":"x","time":"2020-01-05T12:00:00Z"}]}`, at.Format(time.RFC3339)))
	unknownPK, unknownSK := schema.FailureKey(schema.UnknownTarget("shardId-1", "17"))
	oldPK, oldSK := schema.FailureKey("E#old#2020-01-05T12")
	failedPK, failedSK := schema.FailureKey("C#b#0")
	damageA := func() { enginetest.Update(t, d.db, d.names.Rollups, "C#a#0", "-", "SET x1 = :x", item{":x": num(8)}) }
	for _, step := range []struct {
		before func()
		args   string
		exit   int
		texts  []string
	}{
		{nil, "", exitOK, []string{"summaries: 4 checked, 3 right, 0 repaired, 0 wrong or unknown, 1 too old to judge"}},
		{func() {
			damageA()
			enginetest.Update(t, d.db, d.names.Items, "C#b#1", "+", "REMOVE rev", nil)
			enginetest.Eventually(t, func() bool { return enginetest.Get(t, d.db, d.names.Rollups, failedPK, failedSK) != nil })
		}, "--wait 0s", exitBad, []string{"│ counter │ a    │ write shard 1 │ wrong      │ 8 (rev ", "the item C#b#1: it has no rev", "wrong: add --repair\n", "unreadable: fix or delete what it names", "2 of 4 summaries wrong or unknown\n"}},
		{nil, "--repair --type counter --name a", exitOK, []string{"wrong, repaired", "0 right, 1 repaired"}},
		{nil, "--all --repair", exitBad, []string{"C#b#0", "its image lacks rev or value", "failures: 1, 0 forgotten, 1 left", "1 of 4 summaries not repaired\n"}},
		{func() {
			enginetest.Update(t, d.db, d.names.Items, "C#b#1", "+", "SET rev = :r", item{":r": num(9e15)})
			enginetest.Update(t, d.db, d.names.Rollups, unknownPK, unknownSK, "SET last_at = :at", item{":at": num(5)})
			enginetest.Update(t, d.db, d.names.Rollups, oldPK, oldSK, "SET last_at = :at", item{":at": num(5)})
		}, "--failed", exitBad, []string{"failures: 3, 0 forgotten, 3 left"}},
		{nil, "--failed --repair", exitBad, []string{"?shardId-1#17", "Failures with a ? name no summary.", "1 too old to judge", "failures: 3, 1 forgotten, 2 left"}},
		{nil, "--repair --from 2020-01-01T00:00:00Z", exitBad, []string{"failures: 2, 0 forgotten, 2 left", "2 of 2 failures left: "}},
		{nil, "--repair", exitOK, []string{"failures: 2, 2 forgotten, 0 left"}},
		{damageA, "--repair", exitOK, []string{"wrong, repaired"}},
		{nil, "--type entity --name old --from 2020-01-05T12:00:00Z --to 2020-01-05T13:00:00Z", exitBad, []string{"1 of 1 summary wrong or unknown\n"}},
		{nil, "--all --event-retention 0", exitOK, []string{"summaries: 4 checked, 4 right"}},
		{func() {
			pk, sk := schema.RollupKey("room/1", at, "gone")
			enginetest.Update(t, d.db, d.names.Rollups, pk, sk, "SET v = :one, events = :one, seq = :seq, measures = :none", item{
				":one": num(1), ":seq": str("1"), ":none": &types.AttributeValueMemberM{Value: item{}},
			})
		}, "--repair", exitBad, []string{"fewer ", "3 events", "add --repair --lower"}},
		{nil, "--repair --lower", exitOK, []string{"fewer, repaired", "1 repaired"}},
		{nil, "", exitOK, []string{"4 checked, 3 right"}},
	} {
		if step.before != nil {
			step.before()
		}
		code, out, err := hotshard(t, append(append([]string{"check"}, strings.Fields(step.args)...), d.flags...)...)
		if code != step.exit {
			t.Errorf("check %s: exit %d, want %d", step.args, code, step.exit)
		}
		wantText(t, out+err, step.texts...)
	}
	damageA()
	out, _ := d.run(exitBad, "check", "--wait", "0s", "--json", "--type", "counter", "--name", "a")
	var report rebuild.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Bad() != 1 || report.Findings[0].State != rebuild.Wrong || report.Findings[0].Summary.Value.Int64() != 8 || report.Findings[0].Next == "" {
		t.Errorf("report %s, %v; want one wrong summary of 8", out, err)
	}
}
