package rebuild_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/require"
)

// pin sets a key's number of write shards.
func (r *rig) pin(t testing.TB, key string, n int) {
	t.Helper()
	base, err := schema.ParseBaseKey(key)
	require.NoError(t, err)
	require.NoError(t, r.pinned(context.Background(), base, n, time.Now()))
}

// source stores a write shard of a counter, and its state in the summary.
func (r *rig) source(t testing.TB, counter string, n int, rev, value int) {
	t.Helper()
	pk, sk := schema.CounterKey(counter, n)
	r.putItem(t, r.names.Items, pk, sk, item{"rev": num(rev), "value": num(value)})
	if n == 0 {
		return
	}
	r.update(t, r.names.Rollups, schema.SummaryKey(counter, n), "-",
		fmt.Sprintf("SET v = :one, as_of = :one, r%d = :r, x%[1]d = :x", n), item{":one": num(1), ":r": num(rev), ":x": num(value)})
}

// addTo increments a counter on a write shard, as a writer does.
func (r *rig) addTo(t testing.TB, counter string, n, delta int) {
	t.Helper()
	pk, sk := schema.CounterKey(counter, n)
	r.update(t, r.names.Items, pk, sk, "SET rev = if_not_exists(rev, :now) + :one ADD #value :delta",
		item{":now": num(time.Now().UnixMicro()), ":one": num(1), ":delta": num(delta)})
}

// TestRepairLeavesADatedTombstone checks that the repair of a removed write shard leaves a tombstone
// with the time that the compaction needs.
func TestRepairLeavesADatedTombstone(t *testing.T) {
	r := newRig(t)
	r.source(t, "c", 1, 100, 7)
	r.delete(t, r.names.Items, "C#c#1", "+")
	check(t, r.checker(hastyRepair), counterTarget("c"))
	summary := r.get(t, r.names.Rollups, "C#c#0", "-")
	if summary[schema.Gone] == nil || summary["r1"].(*types.AttributeValueMemberN).Value != "101" || summary["x1"].(*types.AttributeValueMemberN).Value != "0" {
		t.Errorf("the summary is %v, want rev 101, value 0 and the time of the removal", summary)
	}
}

// TestManyWriteShards checks that a check finds and repairs faults in all partials of a summary. One write
// shard is not in the shard map. Unreadable ones stay as they are.
func TestManyWriteShards(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pin(t, "C#c", 70)
	for n := range 70 {
		r.source(t, "c", n, 100+n, n)
	}
	r.source(t, "c", 130, 5, 5)
	for _, n := range []int{1, 63} {
		r.update(t, r.names.Rollups, "C#c#0", "-", fmt.Sprintf("SET x%d = :x", n), item{":x": num(1000)})
	}
	r.delete(t, r.names.Items, "C#c#69", "+")
	r.update(t, r.names.Rollups, "C#c#1", "-", "SET r64 = :r", item{":r": dynamo.String("x")})
	r.update(t, r.names.Items, "C#c#2", "+", "REMOVE rev", nil)
	r.update(t, r.names.Rollups, "C#c#1", "-", "SET r90 = :r, x90 = :r", item{":r": num(3)}) // beyond the shard map's
	want := map[int]rebuild.State{1: rebuild.Wrong, 2: rebuild.Unreadable, 63: rebuild.Wrong, 64: rebuild.Unreadable, 69: rebuild.Removed, 90: rebuild.Removed}
	for _, repair := range []bool{false, true} {
		found := check(t, r.checker(func(o *rebuild.Options) { o.Wait, o.Repair = 0, repair }), counterTarget("c"))
		got := map[int]rebuild.State{}
		for _, f := range found {
			got[*f.WriteShard] = f.State
			if f.Repaired != (repair && f.State != rebuild.Unreadable) {
				t.Errorf("repair %t: repaired is wrong in %+v", repair, f)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("repair %t: found %v, want %v", repair, got, want)
		}
	}
	found := check(t, r.checker(hasty), counterTarget("c"))
	if len(found) != 2 || !strings.Contains(found[0].Detail, `the item C#c#2: it has no rev`) || !strings.Contains(found[1].Detail, "the summary C#c#1: its r64 is not a whole number") {
		t.Fatalf("findings after the repair: %+v, want the two unreadable write shards", found)
	}
}

// TestWriteShard0 checks that a check finds an unreadable write shard 0, which is never folded. Repair
// and discovery leave out a counter that never grew.
func TestWriteShard0(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pin(t, "C#grown", 2)
	r.source(t, "grown", 0, 100, 7)
	r.source(t, "grown", 1, 100, 7)
	r.source(t, "small", 0, 100, 7)
	before := r.get(t, r.names.Rollups, "C#small#0", "-")
	if report := all(t, r.checker(hastyRepair)); report.Targets != 1 || report.Right != 1 {
		t.Errorf("report %+v, want one target, and that right", report)
	}
	if found := check(t, r.checker(hastyRepair), counterTarget("small")); len(found) != 0 || before != nil || r.get(t, r.names.Rollups, "C#small#0", "-") != nil {
		t.Errorf("findings %+v, or the repair wrote a summary", found)
	}
	for attribute, value := range map[string]types.AttributeValue{"#value": dynamo.String("x"), "n": num(4), "rev": dynamo.String("x")} {
		r.source(t, "small", 0, 100, 7)
		r.update(t, r.names.Items, "C#small#0", "-", "SET "+attribute+" = :x", item{":x": value})
		report := all(t, r.checker(hastyRepair))
		if report.Targets != 2 || report.States[rebuild.Unreadable] != 1 || !strings.Contains(report.Findings[0].Detail, "the item C#small#0") {
			t.Errorf("damaged %s: %+v, want C#small#0 unreadable", attribute, report)
		}
	}
}
