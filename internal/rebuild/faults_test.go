package rebuild_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// fault damages a summary, or its items.
type fault struct {
	kind, name string
	state      rebuild.State
	inject     func(t testing.TB, r *rig, name string)
	summary    string // figures of the finding
	items      string
}

// A counter of the faults has write shard 1 with the value 7 at rev 100. An entity has four events in hour(), whose t is
// 1 to 4. A board has 30 players.
var faults = []fault{
	{"counter", "an old state", rebuild.Stale, summary("SET r1 = :r, x1 = :x", 90, 5), "5 (rev 90)", "7 (rev 100)"},
	{"counter", "no state", rebuild.Stale, summary("REMOVE r1, x1"), "nothing", "7 (rev 100)"},
	{"counter", "no summary", rebuild.Stale, func(t testing.TB, r *rig, name string) { r.delete(t, r.names.Rollups, "C#"+name+"#0", "-") }, "nothing", "7 (rev 100)"},
	{"counter", "another value", rebuild.Wrong, summary("SET r1 = :r, x1 = :x", 100, -8), "-8 (rev 100)", "7 (rev 100)"},
	{"counter", "counted twice", rebuild.Wrong, summary("SET r1 = :r, x1 = :x", 100, 14), "14 (rev 100)", "7 (rev 100)"},
	{"counter", "another counter's write shard", rebuild.Removed, summary("SET r9 = :r, x9 = :x", 100, 5), "5 (rev 100)", "nothing"},
	{"counter", "a removed item", rebuild.Removed, func(t testing.TB, r *rig, name string) { r.delete(t, r.names.Items, "C#"+name+"#1", "+") }, "7 (rev 100)", "nothing"},
	{"counter", "a restored item", rebuild.Ahead, func(t testing.TB, r *rig, name string) {
		r.putItem(t, r.names.Items, "C#"+name+"#1", "+", item{"rev": num(60), "value": num(3)})
	}, "7 (rev 100)", "3 (rev 60)"},

	{"entity", "another sum", rebuild.Wrong, fragment("SET measures.t.#sum = measures.t.#sum + :n", 90), `4 events; "t": 4, sum 100, min 1, max 4`, fourEvents},
	{"entity", "an old fragment", rebuild.Wrong, fragment("SET events = events - :n", 1), "3 events", "4 events"},
	{"entity", "an unknown field", rebuild.Wrong, func(t testing.TB, r *rig, name string) {
		pk, sk := r.part(t, name, hour())
		one := &types.AttributeValueMemberM{Value: item{"n": num(1), "sum": num(1), "min": num(1), "max": num(1)}}
		r.update(t, r.names.Rollups, pk, sk, "SET measures.u = :u", item{":u": one})
	}, `4 events; "u": 1, sum 1, min 1, max 1`, `4 events; no "u"`},
	{"entity", "an expired fragment", rebuild.Wrong, func(t testing.TB, r *rig, name string) {
		for _, p := range r.parts(t, name, hour()) {
			pk, sk := schema.RollupKey(name, hour(), p.StreamShard)
			r.update(t, r.names.Rollups, pk, sk, "SET expires_at = :at", item{":at": num(time.Now().Add(-time.Minute).Unix())})
		}
	}, noEvents, fourEvents},
	{"entity", "no rollup", rebuild.Wrong, func(t testing.TB, r *rig, name string) {
		for _, p := range r.parts(t, name, hour()) {
			pk, sk := schema.RollupKey(name, hour(), p.StreamShard)
			r.delete(t, r.names.Rollups, pk, sk)
		}
	}, noEvents, fourEvents},
	{"entity", "another stream shard's fragment", rebuild.Fewer, func(t testing.TB, r *rig, name string) {
		r.addFragments(t, name, hour(), 3)
	}, "7 events", "4 events"},
	{"entity", "an event on two write shards", rebuild.Copy, copies(1), `5 events; "t": 5, sum 12, min 1, max 4`, fourEvents},
	{"entity", "an event on two write shards, and a fragment of another", rebuild.Fewer, func(t testing.TB, r *rig, name string) {
		copies(1)(t, r, name)
		r.addFragments(t, name, hour(), 1)
	}, `6 events; "t": 5, sum 12, min 1, max 4`, fourEvents},

	{"board", "other counts", rebuild.Wrong, histogram(item{"cells": offCells}), "", ""},
	{"board", "another stream shard's fragment", rebuild.Wrong, rowOf(schema.HistogramPrefix+"lost", item{"v": num(1), "seq": dynamo.String("05"), "cells": offCells}), "", ""},
	{"board", "an expired fragment", rebuild.Wrong, histogram(item{"expires_at": num(5)}), "", ""},
	{"board", "unreadable cells", rebuild.Unreadable, histogram(item{"cells": bin([]byte("x"))}), "", ""},
	{"board", "no seq", rebuild.Unreadable, histogram(item{"seq": nil}), "", ""},
	{"board", "an unreadable merged fragment", rebuild.Unreadable, rowOf(schema.HistogramPrefix+schema.MergedPart, item{"v": num(1), "seq": dynamo.String("x"), "cells": nil}), "", ""},
	{"board", "other places", rebuild.Wrong, rowOf(schema.TopSK, item{"places": bin(parts.NewTop().Bytes())}), "", ""},
	{"board", "no top", rebuild.Wrong, func(t testing.TB, r *rig, name string) {
		r.delete(t, r.names.Rollups, schema.BoardRollupKey(name, "all"), schema.TopSK)
	}, "", ""},
	{"board", "an unreadable top", rebuild.Unreadable, rowOf(schema.TopSK, item{"places": nil}), "", ""},
	{"board", "no top's version", rebuild.Unreadable, rowOf(schema.TopSK, item{"version": nil}), "", ""},
	{"board", "an outdated row of the index", rebuild.Wrong, outdatedRow, "", ""},
}

// ofLongRun has slow faults whose repair others of the same summary show.
var ofLongRun = map[string]bool{
	"unreadable cells": true, "no seq": true, "an unreadable merged fragment": true, "no top": true, "no top's version": true,
}

const (
	fourEvents = `4 events; "t": 4, sum 10, min 1, max 4`
	noEvents   = `0 events; no "t"`
)

var offCells = func() types.AttributeValue {
	var off parts.Histogram
	off.Add(5, 3)
	return bin(off.Bytes())
}()

// dayOf returns the partition key of an entity's events in hour() on a write shard.
func dayOf(entity string, writeShard int) string {
	return fmt.Sprintf("E#%s#%s#%d", entity, hour().Format(time.DateOnly), writeShard)
}

// sortKey returns the sort key of an event of rig.put in hour().
func sortKey(i int) string {
	return schema.EventSortKey(hour().Add(time.Duration(i)*time.Second), fmt.Sprint("id", i))
}

// summary updates a counter's summary.
func summary(expression string, state ...int) func(t testing.TB, r *rig, name string) {
	return func(t testing.TB, r *rig, name string) {
		var values item
		if len(state) > 0 {
			values = item{":r": num(state[0]), ":x": num(state[1])}
		}
		r.update(t, r.names.Rollups, "C#"+name+"#0", "-", expression, values)
	}
}

// fragment updates a fragment with events of an entity's rollup.
func fragment(expression string, n int) func(t testing.TB, r *rig, name string) {
	return func(t testing.TB, r *rig, name string) {
		pk, sk := r.part(t, name, hour())
		r.update(t, r.names.Rollups, pk, sk, expression, item{":n": num(n)})
	}
}

// copies stores these events on write shard 1, too, and waits until they are folded. Their home is write shard 0.
func copies(ids ...int) func(t testing.TB, r *rig, name string) {
	return func(t testing.TB, r *rig, name string) {
		r.pin(t, "E#"+name, 2)
		for _, i := range ids {
			r.putItem(t, r.names.Events, dayOf(name, 1), sortKey(i), item{"data": &types.AttributeValueMemberM{Value: item{"t": num(i + 1)}}})
		}
		r.folded(t, name, hour(), int64(4+len(ids)))
	}
}

// histogram changes an open stream shard's fragment of a board's histogram.
func histogram(with item) func(t testing.TB, r *rig, name string) {
	return func(t testing.TB, r *rig, name string) { r.damage(t, name, r.openFragment(t, name), with) }
}

// rowOf changes a board's summary item.
func rowOf(sk string, with item) func(t testing.TB, r *rig, name string) {
	return func(t testing.TB, r *rig, name string) { r.damage(t, name, sk, with) }
}

// outdatedRow raises a score without moving its row in the index, and drops the fold's note to move it. Where the
// boards task was faster, it raises the score again.
func outdatedRow(t testing.TB, r *rig, name string) {
	pk, sk := schema.EntryKey(name, "all", "p1")
	score := 1_000_000
	enginetest.Eventually(t, func() bool {
		if entry, err := boards.ParseEntry(r.get(t, r.names.Items, pk, sk)); err != nil || !entry.Late() {
			require.NoError(t, err)
			score++
			r.update(t, r.names.Items, pk, sk, "SET score = :s, rev = rev + :one", item{":s": num(score), ":one": num(1)})
		}
		return r.dropsRowNotes(t, name) && len(check(t, r.checker(quick(nil)), boardTarget(name))) > 0
	})
}

// dropsRowNotes deletes a board's notes of outdated rows, and reports whether there was one.
func (r *rig) dropsRowNotes(t testing.TB, name string) (dropped bool) {
	for _, pk := range schema.NotePartitions() {
		for _, it := range enginetest.Query(t, r.db, r.names.Rollups, pk) {
			if of, rows := schema.ParseRowsNote(dynamo.Text(it, "sk")); rows && strings.HasPrefix(of, "L#"+name+"#") {
				r.delete(t, r.names.Rollups, pk, dynamo.Text(it, "sk"))
				dropped = true
			}
		}
	}
	return dropped
}

// summarized is how the faults' tests write a kind of key.
type summarized struct {
	target func(name string) schema.Target
	write  func(t testing.TB, r *rig, name string) // the first items
	again  func(t testing.TB, r *rig, name string) // more items
	folded func(t testing.TB, r *rig, name string) int64
	counts [2]int64 // what folded returns after write, and after again
}

var kindsOfFaults = map[string]summarized{
	"counter": {
		counterTarget,
		func(t testing.TB, r *rig, name string) {
			r.pin(t, "C#"+name, 2)
			r.source(t, name, 1, 100, 7)
		},
		func(t testing.TB, r *rig, name string) {
			r.addTo(t, name, 1, 10)
			r.fold(t)
		},
		func(testing.TB, *rig, string) int64 { return 0 }, [2]int64{},
	},
	"entity": {
		func(name string) schema.Target { return hourTarget(name, hour()) },
		func(t testing.TB, r *rig, name string) { r.put(t, name, hour(), 4) },
		func(t testing.TB, r *rig, name string) { r.put(t, name, hour().Add(time.Minute), 3) },
		func(t testing.TB, r *rig, name string) int64 { return r.eventsIn(t, name, hour()) }, [2]int64{4, 7},
	},
	"board": {
		boardTarget,
		func(t testing.TB, r *rig, name string) {
			r.pin(t, "L#"+name, 3)
			r.score(t, name, players(30)...)
		},
		func(t testing.TB, r *rig, name string) { r.score(t, name, "p3 1001", "new 4") },
		func(t testing.TB, r *rig, name string) int64 {
			store := parts.NewHistograms(r.db, r.names.Rollups, time.Now)
			read, err := store.Read(t.Context(), parts.Period{Board: name, Label: "all"}.Key())
			require.NoError(t, err)
			return store.Sum(read).Total()
		}, [2]int64{30, 31},
	},
}

// TestFaults checks that a check finds each fault and changes nothing, that a repair repairs it, that a second check finds
// nothing, and that folds go on. The aggregator runs, but not for the counters: it would repair some of them. The quick run has one
// fault of each kind and state.
func TestFaults(t *testing.T) {
	t.Parallel()
	running, still := newRig(t), newRig(t)
	running.run(t, nil)
	t.Run("each", func(t *testing.T) {
		found := map[string]bool{}
		for i, f := range faults {
			if !require.LongRun && ofLongRun[f.name] || !require.FullRun() && found[f.kind+string(f.state)] {
				continue
			}
			found[f.kind+string(f.state)] = true
			t.Run(f.kind+" "+f.name, func(t *testing.T) {
				r := still
				if f.kind != "counter" {
					t.Parallel()
					r = running
				}
				r.wantRepaired(t, f, fmt.Sprintf("f#%d", i))
			})
		}
	})
	running.wantNoMarkers(t)
}

// wantRepaired checks one fault, on a key with this name.
func (r *rig) wantRepaired(t *testing.T, f fault, name string) {
	of, wait := kindsOfFaults[f.kind], 20*time.Second
	if f.kind == "counter" {
		wait = 50 * time.Millisecond // no fold is in flight
	}
	target := of.target(name)
	dry := r.checker(quick(nil))
	settled := func(count int64) { // a check before that would prove a difference
		t.Helper()
		enginetest.Eventually(t, func() bool { return of.folded(t, r, name) == count })
		if f.kind == "board" {
			r.rechecked(t)
		}
		enginetest.Eventually(t, func() bool { return len(check(t, dry, target)) == 0 })
	}
	of.write(t, r, name)
	settled(of.counts[0])
	f.inject(t, r, name)
	runs := []func(*rebuild.Options){func(o *rebuild.Options) { o.Wait = wait }, lowering}
	if f.state == rebuild.Fewer {
		runs = slices.Insert(runs, 1, repairing) // which leaves it as it is
	}
	for i, run := range runs {
		found, repaired := check(t, r.checker(quick(run)), target), i == len(runs)-1
		if len(found) != 1 || found[0].State != f.state || found[0].Repaired != repaired || (found[0].Next == "") != repaired {
			t.Fatalf("run %d: findings %+v, want one, %s", i, found, f.state)
		}
		if sum, items := found[0].Texts(); f.summary != "" && (sum != f.summary || items != f.items) {
			t.Errorf("summary %q, items %q; want %q, %q", sum, items, f.summary, f.items)
		}
	}
	if f.kind == "board" {
		r.rechecked(t)
	}
	if found := check(t, dry, target); len(found) != 0 {
		t.Fatalf("findings after the repair: %+v, want none", found)
	}
	of.again(t, r, name)
	settled(of.counts[1])
}
