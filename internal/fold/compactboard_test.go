package fold

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// cellsOf stores a stream shard's fragment of a board's histogram, with this number of entries at each
// score.
func (r *compactRig) cellsOf(t rapid.TB, name, period, streamShard string, each int64, asOf, expires time.Time, scores ...uint64) {
	t.Helper()
	var cells parts.Histogram
	for _, score := range scores {
		cells.Add(score, each)
	}
	stored := cells.Attributes()
	stored[schema.RollupSequence] = dynamo.String(sequence)
	maps.Copy(stored, dynamo.Key(schema.HistogramKey(name, period, streamShard)))
	stored[schema.AsOf] = dynamo.Number(asOf.UnixMilli())
	if !expires.IsZero() {
		stored[schema.ExpiresAt] = dynamo.Number(expires.Unix())
	}
	r.put(t, r.names.Rollups, stored)
}

// counted returns the number of entries in each fragment that was not emptied, by stream shard.
func (r *compactRig) counted(t rapid.TB, name, period string) map[string]int64 {
	t.Helper()
	read, err := r.cells.Read(context.Background(), parts.Period{Board: name, Label: period}.Key())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, p := range read {
		if !p.Emptied() {
			found[p.StreamShard] = p.Value.Total()
		}
	}
	return found
}

// TestMergesHistograms checks that the resting fragments of a period are merged, and expire with the last of them.
func TestMergesHistograms(t *testing.T) {
	r := newCompactRig(t, nil)
	later := r.clock.Add(10 * day)
	for i, rested := range []time.Duration{48*time.Hour + time.Second, 59 * day, 48*time.Hour - time.Second} {
		r.cellsOf(t, "b#1", "2026-W02", fmt.Sprint("s", i), 3, r.ago(rested), later.AddDate(0, 0, -i), 1)
	}
	r.want(t, compactAnswer{Boards: 1, Merged: 2, Done: true})
	read, err := r.cells.Read(t.Context(), parts.Period{Board: "b#1", Label: "2026-W02"}.Key())
	if err != nil || read[len(read)-1].ExpiresAt != later.Unix() || !maps.Equal(r.counted(t, "b#1", "2026-W02"), map[string]int64{"s2": 3, schema.MergedPart: 6}) {
		t.Errorf("fragments %+v, %v; want 6 entries merged until %v, and 3 in s2", read, err, later)
	}
}

// TestDamagedHistograms checks that unreadable fragments are logged and the others merged. If the merged
// fragment is unreadable, nothing is merged.
func TestDamagedHistograms(t *testing.T) {
	r := newCompactRig(t, nil)
	damage := func(name, streamShard string) {
		it := dynamo.Key(schema.HistogramKey(name, "all", streamShard))
		it[schema.AsOf], it[schema.RollupSequence] = dynamo.Number(r.ago(59*day).UnixMilli()), dynamo.String("1")
		it[schema.HistogramCells] = &types.AttributeValueMemberB{Value: []byte("x")}
		r.put(t, r.names.Rollups, it)
	}
	for _, name := range []string{"a", "b"} {
		for _, streamShard := range []string{"s0", "s1"} {
			r.cellsOf(t, name, "all", streamShard, 3, r.ago(59*day), time.Time{}, 1)
		}
	}
	damage("a", "s2")
	damage("b", schema.MergedPart)
	r.want(t, compactAnswer{Boards: 1, Merged: 2, Failed: 2, Done: true})
	if logs := r.logs.String(); !strings.Contains(logs, "s2") || !strings.Contains(logs, schema.MergedPart) {
		t.Errorf("the logs do not name both fragments: %s", logs)
	}
	if got := r.counted(t, "a", "all"); got[schema.MergedPart] != 6 {
		t.Errorf("a: entries by fragment %v, want 6 merged", got)
	}
	if got := r.counted(t, "b", "all"); got["s0"] != 3 {
		t.Errorf("b: entries by fragment %v, want 3 in s0", got)
	}
}
