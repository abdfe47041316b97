package compact

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// source stores a counter's write shard.
func (r *rig) source(t *testing.T, pk string) {
	t.Helper()
	stored := dynamo.Key(pk, "+")
	stored["rev"], stored["value"] = dynamo.Number(1), dynamo.Number(0)
	r.put(t, r.names.Items, stored)
}

// TestRemovesTombstones checks that the compaction removes old tombstones of write shards without items.
// A partial with nothing else is deleted.
func TestRemovesTombstones(t *testing.T) {
	r := newRig(t, nil)
	gone := r.ago(rest + time.Second).UnixMilli()
	r.summary(t, "C#a#1#0", map[string]int64{"r5": 9, "x5": 5, "r1": 8, "x1": 0, "r2": 7, "x2": 0, "r63": 6, "x63": 0, "gone": gone})
	r.source(t, "C#a#1#2") // no tombstone: the item has value 0
	r.summary(t, "C#young#0", map[string]int64{"r1": 9, "x1": 0, "gone": r.ago(rest - time.Second).UnixMilli()})
	r.summary(t, "C#all#1", map[string]int64{"r64": 9, "x64": 0, "r127": 8, "x127": 0, "gone": gone})
	r.summary(t, "C#live#0", map[string]int64{"r1": 9, "x1": 0, "gone": gone})
	r.source(t, "C#live#1")
	r.want(t, Answer{Tombstones: 4, Done: true})
	for pk, want := range map[string]map[string]string{
		"C#a#1#0":   {"r5": "9", "x5": "5", "r2": "7", "x2": "0"},
		"C#young#0": {"r1": "9", "x1": "0", "gone": fmt.Sprint(r.ago(rest - time.Second).UnixMilli())},
		"C#all#1":   nil,
		"C#live#0":  {"r1": "9", "x1": "0"},
	} {
		if got := r.attributes(t, pk); !maps.Equal(got, want) {
			t.Errorf("%s has %v, want %v", pk, got, want)
		}
	}
}

// TestPartialFullOfTombstones deletes a partial with the longest condition that there can be.
func TestPartialFullOfTombstones(t *testing.T) {
	r := newRig(t, nil)
	pk := schema.SummaryKey("wide", 99_968)
	numbers := map[string]int64{"gone": r.ago(3 * day).UnixMilli()}
	for i := range schema.SourcesPerPartial {
		numbers[schema.RevAttr(99_968+i)], numbers[schema.ValueAttr(99_968+i)] = r.clock.UnixMicro(), 0
	}
	r.summary(t, pk, numbers)
	r.want(t, Answer{Tombstones: 64, Done: true})
	if got := r.attributes(t, pk); got != nil {
		t.Errorf("the partial still has %v", got)
	}
}

// TestFoldsDuringARemoval checks that the removal of tombstones keeps whatever is folded into a partial
// after it was read.
func TestFoldsDuringARemoval(t *testing.T) {
	gone := hour.UnixMilli()
	only := map[string]int64{"r1": 8, "x1": 0, "gone": gone}
	beside := map[string]int64{"r1": 8, "x1": 0, "r2": 3, "x2": 4, "gone": gone}
	for name, c := range map[string]struct {
		stored map[string]int64
		fold   string
		values item
		want   map[string]string
	}{
		"a write shard made again": {only, "SET r1 = :r, x1 = :x", item{":r": dynamo.Number(99), ":x": dynamo.Number(7)}, map[string]string{"r1": "99", "x1": "7"}},
		"made again, with value 0": {only, "SET r1 = :r", item{":r": dynamo.Number(99)}, map[string]string{"r1": "99", "x1": "0"}},
		"and removed again":        {only, "SET r1 = :r, gone = :g", item{":r": dynamo.Number(99), ":g": dynamo.Number(gone + 1)}, map[string]string{"r1": "99", "x1": "0"}},
		"another write shard":      {only, "SET r5 = :r, x5 = :x", item{":r": dynamo.Number(99), ":x": dynamo.Number(7)}, map[string]string{"r1": "8", "x1": "0", "r5": "99", "x5": "7"}},
		"beside one that is there": {beside, "SET r1 = :r, x1 = :x", item{":r": dynamo.Number(99), ":x": dynamo.Number(7)}, map[string]string{"r1": "99", "x1": "7", "r2": "3", "x2": "4"}},
		"another removal":          {beside, "SET r2 = :r, x2 = :x, gone = :g", item{":r": dynamo.Number(99), ":x": dynamo.Number(0), ":g": dynamo.Number(gone + 1)}, map[string]string{"r1": "8", "x1": "0", "r2": "99", "x2": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.summary(t, "C#c#0", c.stored)
			r.on.get = func(table string) error {
				if table == r.names.Items {
					r.on.get = nil
					r.set(t, "C#c#0", c.fold, c.values)
				}
				return nil
			}
			r.want(t, Answer{Done: true})
			got := r.attributes(t, "C#c#0")
			if delete(got, "gone"); !maps.Equal(got, c.want) {
				t.Errorf("the partial has %v, want %v", got, c.want)
			}
		})
	}
	r := newRig(t, nil) // an increment of another write shard does not keep the tombstone
	r.summary(t, "C#c#0", beside)
	r.on.write = func() error {
		r.on.write = nil
		r.set(t, "C#c#0", "SET r2 = :r, x2 = :x", item{":r": dynamo.Number(4), ":x": dynamo.Number(5)})
		return nil
	}
	r.want(t, Answer{Tombstones: 1, Done: true})
	if got := r.attributes(t, "C#c#0"); !maps.Equal(got, map[string]string{"r2": "4", "x2": "5"}) {
		t.Errorf("the partial has %v, want r2 4 and x2 5", got)
	}
}

// TestTombstonesThatStay checks that unreadable partials, and those whose calls fail, keep their tombstones.
func TestTombstonesThatStay(t *testing.T) {
	r := newRig(t, nil)
	gone := r.ago(3 * day).UnixMilli()
	stored := map[string]int64{"r1": 8, "x1": 0, "gone": gone}
	for pk, change := range map[string]string{
		"C#version#0": "SET v = :x", "C#nothing#0": "REMOVE x1", "C#text#0": "SET x1 = :x", "C#stray#0": "SET x70 = :x", "C#no number#x": "SET v = :x",
	} {
		r.summary(t, pk, stored)
		values := item{":x": dynamo.String("0")}
		if strings.HasPrefix(change, "REMOVE") {
			values = nil
		}
		r.set(t, pk, change, values)
	}
	answer := r.must(t)
	if answer.Failed != 2 || answer.Tombstones != 1 || !answer.Done {
		t.Errorf("%+v, want 2 failed and 1 removed; logs: %s", answer, &r.logs)
	}
	for pk, want := range map[string]string{"C#version#0": "0", "C#nothing#0": "", "C#text#0": "", "C#stray#0": ""} {
		got := r.attributes(t, pk)
		if got == nil || got["x1"] != want {
			t.Errorf("%s has %v, want x1 %q", pk, got, want)
		}
	}
	for _, h := range []hooks{
		{write: broken},
		{get: func(table string) error {
			if table == r.names.Items {
				return errBroken
			}
			return nil
		}},
	} {
		r = newRig(t, nil)
		r.summary(t, "C#c#0", stored)
		r.on = h
		r.want(t, Answer{Failed: 1, Done: true})
		if got := r.attributes(t, "C#c#0"); got["r1"] != "8" || !strings.Contains(r.logs.String(), "C#c#0") {
			t.Errorf("the partial has %v, want r1 8; logs: %s", got, &r.logs)
		}
	}
	r = newRig(t, func(o *Options) { o.ItemsTable = "" })
	r.summary(t, "C#c#0", stored)
	r.want(t, Answer{Done: true})
}
