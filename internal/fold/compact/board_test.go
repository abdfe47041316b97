package compact

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
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// cellsOf stores a stream shard's fragment of a board's histogram, with this number of entries at each
// score.
func (r *rig) cellsOf(t rapid.TB, name, period, streamShard string, each int64, asOf, expires time.Time, scores ...uint64) {
	t.Helper()
	var cells board.Histogram
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
func (r *rig) counted(t rapid.TB, name, period string) map[string]int64 {
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

// TestMergesHistograms checks that the fragments of a histogram are merged, of all time and of a current
// period. Recently folded fragments, the top and other boards stay.
func TestMergesHistograms(t *testing.T) {
	r := newRig(t, nil)
	later := r.clock.Add(10 * day)
	for _, period := range []string{"all", "2026-W02"} {
		expires := map[string]time.Time{"2026-W02": later}[period]
		for i := range 3 {
			r.cellsOf(t, "b#1", period, fmt.Sprint("s", i), int64(1+i), r.ago(48*time.Hour+time.Second), expires, 10, 20)
		}
		r.cellsOf(t, "b#1", period, "young", 10, r.ago(48*time.Hour-time.Second), expires, 10)
	}
	r.cellsOf(t, "b", "all", "s", 5, r.ago(60*day), time.Time{}, 1)
	top := dynamo.Key(schema.BoardRollupKey("b#1", "all"), schema.TopSK)
	top[schema.AsOf] = dynamo.Number(r.ago(60 * day).UnixMilli())
	r.put(t, r.names.Rollups, top)
	r.want(t, Answer{Boards: 2, Merged: 6, Done: true})
	for _, period := range []string{"all", "2026-W02"} {
		if got := r.counted(t, "b#1", period); !maps.Equal(got, map[string]int64{"young": 10, schema.MergedPart: 12}) {
			t.Errorf("%s: entries by fragment %v, want 10 in young and 12 in the merged one", period, got)
		}
	}
	read, err := r.cells.Read(t.Context(), parts.Period{Board: "b#1", Label: "2026-W02"}.Key())
	if err != nil || read[len(read)-1].ExpiresAt != later.Unix() || read[0].ExpiresAt != r.clock.Add(schema.EmptiedLifetime).Unix() {
		t.Errorf("expiries of the fragments: %+v, %v", read, err)
	}
	if got := r.counted(t, "b", "all"); !maps.Equal(got, map[string]int64{"s": 5}) {
		t.Errorf("a single fragment: %v, want it unchanged", got)
	}
	r.clock = r.clock.Add(roundEvery)
	r.want(t, Answer{Boards: 2, Merged: 2, Done: true})
	if got := r.counted(t, "b#1", "all"); !maps.Equal(got, map[string]int64{schema.MergedPart: 22}) {
		t.Errorf("a round later: %v, want 22 in the merged fragment", got)
	}
	r.clock = r.clock.Add(roundEvery)
	r.want(t, Answer{Done: true})
}

// TestDamagedHistograms checks that unreadable fragments are logged and the others merged. If the merged
// fragment is unreadable, nothing is merged.
func TestDamagedHistograms(t *testing.T) {
	r := newRig(t, nil)
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
	r.want(t, Answer{Boards: 1, Merged: 2, Failed: 2, Done: true})
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
