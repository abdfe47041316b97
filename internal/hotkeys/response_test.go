package hotkeys_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestSameResponse checks that the same state and records give the same response, byte for byte, in every container,
// also with unreadable records.
func TestSameResponse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := settings()
		s.TopK = 10
		bad := []string{badRecords["no time"], badRecords["unknown event"]}
		draw := func(n int) (all writes) {
			for range n {
				w := write{key: fmt.Sprint("C#", rapid.IntRange(0, 20).Draw(rt, "key"), "#0"), at: float64(rapid.IntRange(-5, 15).Draw(rt, "at"))}
				if rapid.IntRange(0, 8).Draw(rt, "kind") == 0 {
					w = write{raw: rapid.SampledFrom(bad).Draw(rt, "bad")}
				}
				all = append(all, w)
			}
			return all
		}
		before := newFixture(s)
		state := before.must(t, batch{writes: draw(rapid.IntRange(0, 60).Draw(rt, "before")), first: 1}.payload())
		payload := batch{writes: draw(rapid.IntRange(0, 60).Draw(rt, "writes")), first: 100, state: state, final: rapid.Bool().Draw(rt, "final")}.payload()
		one, other := newFixture(s), newFixture(s)
		var responses []string
		for _, f := range []*fixture{one, other, one} {
			f.shards.fail = errMap // so that no decision depends on the shard map
			response, err := f.handler.Invoke(context.Background(), payload)
			if err != nil {
				rt.Fatal(err)
			}
			responses = append(responses, string(response))
		}
		if responses[0] != responses[1] || responses[0] != responses[2] {
			rt.Fatalf("responses %s differ", responses)
		}
	})
}

var errMap = errors.New("no shard map today")

// TestClosedStreamShard checks that a stream shard that closes ends its window, that its children begin with empty
// states, and that a key is hot by the sum of all three.
func TestClosedStreamShard(t *testing.T) {
	f := newFixture(settings())
	state := f.must(t, batch{writes: repeat("C#a#0", 300, 1), first: 1, shard: "parent"}.payload())
	f.must(t, batch{state: state, shard: "parent", final: true}.payload())
	for i, child := range []string{"left", "right"} {
		state := f.must(t, batch{writes: repeat("C#a#0", 225, 4), first: 1000 * (i + 1), shard: child}.payload())
		f.must(t, batch{state: state, shard: child, final: true}.payload())
	}
	rows := f.rows(t)
	if len(f.table.items) != 3 || len(rows) != 1 || rows[0].WriteUnitsPerSecond != 75 || rows[0].Peak != 450 || rows[0].Status != heat.Hot || rows[0].Error != 0 {
		t.Errorf("%d items, want 3; rows %+v, want one of 75 WCU/s that is hot", len(f.table.items), rows)
	}
}

// TestLongBacklog checks that an hour's backlog just below the threshold is counted completely, and that nothing is hot
// or grows, for batches of any size.
func TestLongBacklog(t *testing.T) {
	s := settings()
	s.PartitionWCU = 10 // hot from 7 a second
	f := newFixture(s)
	f.now = start.Add(time.Hour)
	var state map[string]string
	second, first := 0, 1
	for size := 1; second < 3600; size = size%500 + 61 { // seconds of records
		var w writes
		for ; second < 3600 && len(w) < 6*size; second++ {
			w = append(w, repeat("C#a#0", 6, float64(second))...)
		}
		// Lambda assigns a window by the time of the delivery, long after the writes.
		state = f.must(t, batch{later: time.Hour, writes: w, first: first, state: state}.payload())
		first += len(w)
	}
	f.must(t, batch{later: time.Hour, state: state, final: true}.payload())
	var units uint64
	for _, item := range parsed(t, f) {
		units += item.Units
	}
	rows := f.rows(t)
	if len(rows) != 1 || rows[0].Status != heat.Warm || rows[0].WriteUnitsPerSecond != 6 || rows[0].Peak != 6 || units != 6*3600 {
		t.Errorf("%d units, want %d; rows %+v, want one of 6 WCU/s that is warm", units, 6*3600, rows)
	}
	if v := f.values("KeyWriteUnitsPerSecond"); len(v) > 0 || len(f.shards.changes) > 0 {
		t.Errorf("metrics %v, changes %v; want none", v, f.shards.changes)
	}
}
