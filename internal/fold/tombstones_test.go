package fold

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
func (r *compactRig) source(t *testing.T, pk string) {
	t.Helper()
	stored := dynamo.Key(pk, "+")
	stored["rev"], stored["value"] = dynamo.Number(1), dynamo.Number(0)
	r.put(t, r.names.Items, stored)
}

// TestRemovesTombstones checks that the compaction removes old tombstones of write shards without items.
// A partial with nothing else is deleted.
func TestRemovesTombstones(t *testing.T) {
	r := newCompactRig(t, nil)
	gone := r.ago(48*time.Hour + time.Second).UnixMilli()
	r.summary(t, "C#a#1#0", map[string]int64{"r5": 9, "x5": 5, "r1": 8, "x1": 0, "r2": 7, "x2": 0, "r63": 6, "x63": 0, "gone": gone})
	r.source(t, "C#a#1#2") // no tombstone: the item has value 0
	r.summary(t, "C#young#0", map[string]int64{"r1": 9, "x1": 0, "gone": r.ago(48*time.Hour - time.Second).UnixMilli()})
	r.summary(t, "C#all#1", map[string]int64{"r64": 9, "x64": 0, "r127": 8, "x127": 0, "gone": gone})
	r.summary(t, "C#live#0", map[string]int64{"r1": 9, "x1": 0, "gone": gone})
	r.source(t, "C#live#1")
	reads := 0
	r.on.get = func(table, _ string) error {
		if table == r.names.Rollups {
			reads++
		}
		return nil
	}
	r.want(t, compactAnswer{Tombstones: 4, Done: true})
	if reads != 4 {
		t.Errorf("%d reads of the rollups table, want 4: the cursor and 3 partials", reads)
	}
	for pk, want := range map[string]map[string]string{
		"C#a#1#0":   {"r5": "9", "x5": "5", "r2": "7", "x2": "0"},
		"C#young#0": {"r1": "9", "x1": "0", "gone": fmt.Sprint(r.ago(48*time.Hour - time.Second).UnixMilli())},
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
	r := newCompactRig(t, nil)
	pk := schema.SummaryKey("wide", 99_968)
	numbers := map[string]int64{"gone": r.ago(3 * day).UnixMilli()}
	for i := range schema.SourcesPerPartial {
		numbers[schema.RevAttr(99_968+i)], numbers[schema.ValueAttr(99_968+i)] = r.clock.UnixMicro(), 0
	}
	r.summary(t, pk, numbers)
	r.want(t, compactAnswer{Tombstones: 64, Done: true})
	if got := r.attributes(t, pk); got != nil {
		t.Errorf("the partial still has %v", got)
	}
}

// TestFoldsDuringARemoval checks that the removal of tombstones keeps whatever is folded into a partial
// after it was read. A partial with only tombstones is deleted, so a fold may add any of its write shards, 64 to 127.
func TestFoldsDuringARemoval(t *testing.T) {
	gone := hour.UnixMilli()
	only := map[string]int64{"r65": 8, "x65": 0, "gone": gone}
	beside := map[string]int64{"r65": 8, "x65": 0, "r66": 3, "x66": 4, "gone": gone}
	r, folds := newCompactRig(t, nil), map[string]func(){}
	for name, c := range map[string]struct {
		stored map[string]int64
		fold   string
		want   string
	}{
		"made-again":        {only, "SET r65 = :r, x65 = :x", "r65:99 x65:7"},
		"made-again-with-0": {only, "SET r65 = :r", "r65:99 x65:0"},
		"removed-again":     {only, "SET r65 = :r, gone = :g", "r65:99 x65:0"},
		"another":           {only, "SET r69 = :r, x69 = :x", "r65:8 r69:99 x65:0 x69:7"},
		"the-first":         {only, "SET r64 = :r, x64 = :x", "r64:99 r65:8 x64:7 x65:0"},
		"the-last":          {only, "SET r127 = :r, x127 = :x", "r127:99 r65:8 x127:7 x65:0"},
		"beside":            {beside, "SET r65 = :r, x65 = :x", "r65:99 r66:3 x65:7 x66:4"},
		"another-removal":   {beside, "SET r66 = :r, x66 = :zero, gone = :g", "r65:8 r66:99 x65:0 x66:0"},
	} {
		pk, values := "C#"+name+"#1", item{}
		for value, n := range map[string]int64{":r": 99, ":x": 7, ":g": gone + 1, ":zero": 0} {
			if strings.Contains(c.fold, value) {
				values[value] = dynamo.Number(n)
			}
		}
		r.summary(t, pk, c.stored)
		folds[name] = func() { r.set(t, pk, c.fold, values) }
		defer func() {
			got := r.attributes(t, pk)
			delete(got, "gone")
			if text := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(got), "map["), "]"); text != c.want {
				t.Errorf("%s: the partial has %v, want %v", name, text, c.want)
			}
		}()
	}
	r.on.get = func(table, pk string) error {
		name := strings.Split(pk, "#")[min(1, strings.Count(pk, "#"))]
		if fold := folds[name]; table == r.names.Items && fold != nil {
			delete(folds, name)
			fold()
		}
		return nil
	}
	r.want(t, compactAnswer{Done: true})
}

// TestTombstonesThatStay checks that unreadable partials, and those whose calls fail, keep their tombstones.
func TestTombstonesThatStay(t *testing.T) {
	r := newCompactRig(t, nil)
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
		{write: outOfOrder},
		{get: func(table, _ string) error {
			if table == r.names.Items {
				return errOutOfOrder
			}
			return nil
		}},
		{get: func(_, pk string) error {
			if pk == "C#c#0" {
				return errOutOfOrder
			}
			return nil
		}},
	} {
		r = newCompactRig(t, nil)
		r.summary(t, "C#c#0", stored)
		r.on = h
		r.want(t, compactAnswer{Failed: 1, Done: true})
		if got := r.attributes(t, "C#c#0"); got["r1"] != "8" || !strings.Contains(r.logs.String(), "C#c#0") {
			t.Errorf("the partial has %v, want r1 8; logs: %s", got, &r.logs)
		}
	}
}
