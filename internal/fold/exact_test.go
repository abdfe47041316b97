package fold

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

// Sizes of TestFoldsAreExact.
var (
	seeds     = flag.Int("seeds", require.Runs(1, 16), "worlds")
	rounds    = flag.Int("rounds", 0, "rounds of each world: some writes, then some deliveries; 0 is as many as the run of the tests has")
	faults    = flag.Int("faults", 80, "faults in 1,000 calls of variants with faults")
	keys      = flag.Int("counters", 8, "counters of each world")
	tormented = flag.Int("variants", require.Runs(2, 3), "variants of each world with faults")
)

// TestFoldsAreExact writes counters, events and boards, and folds the records of the engine's stream in several
// ways: once each, and with faults. Calls fail before they are sent or lose their answers, processes die, batches
// are redelivered, also late and concurrently, stream shards split and rotate, shard counts change, also late, write
// shards are removed, records can't be folded, the index throttles and lags, summaries expire and are compacted. At
// rest the summaries of all variants are what the items are.
func TestFoldsAreExact(t *testing.T) {
	first := require.Seed(t)
	for n := range uint64(*seeds) {
		t.Run(fmt.Sprint("seed ", first+n), func(t *testing.T) { play(t, first+n) })
	}
}

// play plays one world, and compares its summaries.
func play(t *testing.T, seed uint64) {
	began := time.Now()
	w := newWorld(t, seed)
	w.variants = []*variant{newVariant(w, config{Containers: 1, Lanes: 1, Batch: 100, Spare: 2, Rest: restAge})}
	for range *tormented {
		w.variants = append(w.variants, newVariant(w, config{1 + w.random.IntN(2), 1 + w.random.IntN(4), 1 + w.random.IntN(30), *faults, w.random.IntN(4), time.Duration(w.random.IntN(3)) * time.Minute, w.random.IntN(2) == 0}))
	}
	for range cmp.Or(*rounds, require.Runs(require.UnlessQuick(15, 10), 50)) {
		for range 1 + w.random.IntN(6) {
			w.write()
		}
		w.pull()
		for _, v := range w.variants {
			for range 1 + w.random.IntN(4) {
				v.turn()
			}
		}
		if w.random.IntN(4) == 0 {
			w.hours(w.random.IntN([]int{6, 60}[w.random.IntN(2)]))
		}
	}
	w.end()
	all, sum, calls := map[string]int{}, 0, int64(0)
	for _, v := range w.variants {
		calls += v.calls.Load()
		for fault, n := range v.injected {
			all[fault] += n
			sum += n
		}
		for _, difference := range v.differences() {
			t.Errorf("%+v: %s", v.config, difference)
		}
	}
	t.Logf("seed %d: %d records, %d rollups, %d variants, %d calls, %d faults in %.1f s: %v",
		seed, len(w.streams[0].log)+len(w.streams[1].log), len(w.rollups), len(w.variants), calls, sum, time.Since(began).Seconds(), all)
}

// hours lets time pass. Before a stream loses records, they are delivered.
func (w *world) hours(n int) {
	w.commit()
	w.pull()
	for _, v := range w.variants {
		if n == 0 || v.oldest().Before(w.now().Add(time.Duration(n-23)*time.Hour)) {
			v.drain()
		}
	}
	w.pass(time.Duration(n) * time.Hour)
	for _, v := range w.variants {
		v.expire()
	}
}

// end delivers everything, the last of it without faults, and compacts it after days without writes. A write reaches
// write shard 0 of each counter that grew.
func (w *world) end() {
	w.hours(0)
	w.ended = true
	w.commit()
	w.views["fresh"] = w.view(w.db)
	for name := range w.grown {
		for drawn := -1; drawn != 0; {
			write := counters.NewWriter(w.db, w.names.Items, w.views["fresh"], counters.Options{}).AddTransact(context.Background(), name, 1, w.now())
			drawn = write.Attempt.Shard
			_, err := w.db.UpdateItem(context.Background(), dynamo.UpdateInput(write.Action.Update))
			require.NoError(w.t, err)
		}
	}
	for range 2 { // moves of rows are records, too
		w.pull()
		for _, v := range w.variants {
			v.rest()
			v.again()
		}
	}
	w.pass(73 * time.Hour)
	for _, v := range w.variants[1:] {
		v.compact()
		v.expire()
	}
}

// numbersOf returns the numbers of an event that its rollup has.
func numbersOf(data map[string]any) map[string]string {
	numbers := map[string]string{}
	for field, value := range data {
		if n, ok := value.(map[string]any)["N"].(string); ok {
			numbers[field] = n
		}
	}
	return numbers
}

// differences compares the variant's summaries with the items.
func (v *variant) differences() (list []string) {
	differ := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	v.compareCounters(differ)
	v.compareRollups(differ)
	periods := map[parts.Period]bool{{Board: "b#0", Label: "all"}: true, {Board: "b#1", Label: "all"}: true}
	for _, it := range enginetest.Scan(v.t, v.db, v.names.Items) {
		if name, label, _, ok := schema.ParseEntryKey(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK)); ok {
			periods[parts.Period{Board: name, Label: label}] = true
		}
	}
	for period := range periods {
		v.compareBoard(period, differ)
	}
	return list
}

func (v *variant) compareCounters(differ func(string, ...any)) {
	var names []string
	for i := range *keys {
		names = append(names, fmt.Sprint("c#", i))
	}
	strong := counters.NewReader(v.db, v.names.Items, v.views["fresh"])
	for _, view := range slices.Sorted(maps.Keys(v.views)) {
		var read []counters.Summary
		enginetest.Eventually(v.t, func() bool { // a busy engine may be too slow
			var err error
			read, err = counters.NewSummaries(v.db, v.names.Items, v.table, v.views[view]).Read(context.Background(), names, v.now())
			return err == nil
		})
		for i, name := range names {
			var sum counters.Sum
			enginetest.Eventually(v.t, func() bool {
				var err error
				sum, err = strong.Sum(context.Background(), name)
				return err == nil
			})
			if read[i].Err != nil || read[i].Value.Cmp(sum.Value) != 0 {
				differ("counter %s, view %s: summary %s, %v; write shards %s", name, view, read[i].Value, read[i].Err, sum.Value)
			}
		}
	}
}

func (v *variant) compareRollups(differ func(string, ...any)) {
	have, failures := map[string]*parts.Rollup{}, map[string]bool{}
	for _, it := range enginetest.Scan(v.t, v.db, v.table) {
		pk, sk := dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK)
		if strings.HasPrefix(pk, schema.FailurePrefix) {
			failures[sk] = true
		}
		b, _, ok := parts.BucketOf(pk, sk)
		if !ok {
			continue
		}
		part, err := parts.ParseRollup(it)
		require.NoError(v.t, err)
		if target := b.Target().String(); have[target] == nil {
			have[target] = &part
		} else {
			have[target].Merge(part)
		}
	}
	for target, part := range have {
		if want := v.world.rollups[target]; want == nil || !part.Same(*want) {
			differ("rollup %s: %+v, want %+v", target, part, want)
		}
	}
	for target := range v.world.rollups {
		if have[target] == nil {
			differ("rollup %s is not there", target)
		}
	}
	if !maps.Equal(failures, v.poison) {
		differ("failures of %v, want %v", failures, v.poison)
	}
}

// compareBoard compares a top, the rows of the index, and the histogram with the entries of a board's period.
func (v *variant) compareBoard(period parts.Period, differ func(string, ...any)) {
	var all []boards.Place
	revs := map[string]int64{}
	for _, it := range enginetest.Scan(v.t, v.db, v.names.Items) {
		name, label, player, ok := schema.ParseEntryKey(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
		if (parts.Period{Board: name, Label: label}) != period || !ok {
			continue
		}
		e, err := boards.ParseEntry(it)
		require.NoError(v.t, err)
		all, revs[player] = append(all, e.Place), e.Rev
	}
	slices.SortFunc(all, parts.ComparePlaces)
	h := v.start()
	top, err := h.tops.loadTop(context.Background(), &boardChanges{Period: period})
	require.NoError(v.t, err)
	settings, err := h.tops.boards.Settings(context.Background(), period.Board, v.now())
	require.NoError(v.t, err)
	held := top.Entries()
	if len(held) < min(settings.Size, len(all)) || top.Whole() && len(held) != len(all) {
		differ("board %v: the top has %d of %d players, size %d, whole: %t", period, len(held), len(all), settings.Size, top.Whole())
		return
	}
	for i, e := range held {
		if e.Place != all[i] || e.Rev != revs[e.Player] {
			differ("board %v: rank %d is %+v, want %+v", period, i+1, e, all[i])
		}
	}
	rows, err := h.tops.boards.Top(context.Background(), period.Board, period.Label, len(all)+1, v.now())
	if err != nil || !slices.Equal(rows, all) {
		differ("board %v: the index has %+v, %v; want %+v", period, rows, err, all)
	}
	v.compareHistogram(period, all, differ)
}

func (v *variant) compareHistogram(period parts.Period, all []boards.Place, differ func(string, ...any)) {
	read, err := parts.NewHistograms(v.db, v.table, v.now).Read(context.Background(), period.Key())
	require.NoError(v.t, err)
	var cells parts.Histogram
	for _, p := range read {
		cells.Merge(p.Value)
	}
	if cells.Total() != int64(len(all)) || cells.Late() != 0 {
		differ("the histogram of %s has %d entries, %d of them late; want %d", period.Board, cells.Total(), cells.Late(), len(all))
	}
	for i, p := range all {
		rank, margin := cells.Locate(p.Merit()).Rank()
		if off := rank - int64(i+1); max(off, -off) > margin {
			differ("%+v: rank %d +- %d, want %d", p, rank, margin, i+1)
		}
	}
}
