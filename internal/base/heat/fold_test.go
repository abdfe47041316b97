package heat_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// world has the writes of some windows, and the items that count them with errors.
type world struct {
	base    time.Duration
	windows int
	items   []heat.Item
	truth   []map[[2]string]uint64 // true units by index and key, by window
}

// newWorld draws writes to keys on three stream shards. A key of the table is on one stream shard or on two.
func newWorld(random *rand.Rand, keys []string) *world {
	w := &world{base: []time.Duration{time.Second, 7 * time.Second, 10 * time.Second, time.Minute}[random.IntN(4)], windows: 1 + random.IntN(40)}
	limit := float64(1 + random.IntN(200))
	for n := range w.windows {
		truth := make(map[[2]string]uint64)
		w.truth = append(w.truth, truth)
		if random.IntN(8) == 0 {
			continue // no writes
		}
		for shard := range 3 {
			it := heat.Item{
				Start: noon.Add(time.Duration(n) * w.base), Window: w.base, StreamShard: fmt.Sprint("s", shard),
				Limit: limit, HotRate: 0.7 * limit, Records: uint64(random.IntN(1000)), Incomplete: random.IntN(50) == 0, IndexUnits: map[string]uint64{},
			}
			for i, key := range keys {
				for _, index := range []string{"", "by_rank"} {
					if random.IntN(3) > 0 || index == "" && shard != i%3 && shard != (i+1)%3 {
						continue
					}
					w.count(random, &it, truth, index, key)
				}
			}
			w.items = append(w.items, it)
		}
	}
	return w
}

// count adds units of a key to an item, which may list the key.
func (w *world) count(random *rand.Rand, it *heat.Item, truth map[[2]string]uint64, index, key string) {
	units := random.Uint64N(400)
	truth[[2]string{index, key}] += units
	if index == "" {
		it.Units += units
	} else {
		it.IndexUnits[index] += units
	}
	if random.IntN(3) == 0 {
		if index == "" {
			it.Rest = max(it.Rest, units)
		} else {
			it.IndexRest = max(it.IndexRest, units)
		}
		return
	}
	uncounted := random.Uint64N(units/4 + 1)
	it.Keys = append(it.Keys, heat.Key{
		Index: index, Key: key, Units: units - uncounted, Err: uncounted + random.Uint64N(5), Writes: random.Uint64N(3) * units,
		Peak: random.Uint64N(units + 1), PeakAt: it.Start.Add(time.Duration(random.Int64N(int64(w.base.Seconds()))) * time.Second),
	})
}

// fold folds items into windows of a length.
func fold(items []heat.Item, length time.Duration) (folded []heat.Item) {
	windows := make(map[time.Time][]heat.Item)
	for _, it := range items {
		start := it.Start.Truncate(length)
		windows[start] = append(windows[start], it)
	}
	for start, list := range windows {
		folded = append(folded, heat.Fold(list, start, length))
	}
	slices.SortFunc(folded, func(a, b heat.Item) int { return a.Start.Compare(b.Start) })
	return folded
}

// someKeys draws up to 12 sorted keys.
func someKeys(random *rand.Rand) (keys []string) {
	for n := range 1 + random.IntN(12) {
		keys = append(keys, fmt.Sprintf("C#%c%d#%d", 'a'+random.IntN(3), n, random.IntN(3)))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// TestFold checks that folded items merge to the same rows as the items themselves, and that folding in two steps gives
// the same items as folding at once.
func TestFold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		w := newWorld(random, someKeys(random))
		length := time.Duration(1+random.IntN(9)) * w.base
		want := heat.Merge(w.items)
		for i := range want {
			row := &want[i]
			row.FirstSeen = row.FirstSeen.Truncate(length)
			row.LastSeen = row.LastSeen.Add(-w.base).Truncate(length).Add(length)
			row.Folded = true
		}
		unknown := cmpopts.IgnoreFields(heat.KeyHeat{}, "UnitsPerWrite", "Siblings", "Crowd", "HotUntil")
		if diff := cmp.Diff(want, heat.Merge(fold(w.items, length)), unknown); diff != "" {
			rt.Fatalf("rows (-items +folded items):\n%s", diff)
		}
		from := []time.Duration{2, 3, 5}[random.IntN(3)] * length
		if diff := cmp.Diff(fold(w.items, from), fold(fold(w.items, length), from)); diff != "" {
			rt.Fatalf("folded items (-at once +in two steps):\n%s", diff)
		}
	})
}

// TestFoldBounds checks that the true units of each key are within the bounds of folded items, although stored items
// drop keys, and that the totals are exact.
func TestFoldBounds(t *testing.T) {
	var keys []string
	for n := range 60 {
		keys = append(keys, fmt.Sprintf("%s%02d", strings.Repeat("k", 2000), n)) // an item holds some 47 of these, and 23 of an index
	}
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		w := newWorld(random, keys)
		stored := func(layer heat.Layer, items []heat.Item, length time.Duration) (folded []heat.Item) {
			for _, it := range fold(items, length) {
				back, err := heat.Parse(layer.Stored(&it, noon))
				if err != nil {
					rt.Fatal(err)
				}
				if len(it.Keys) == 2*len(keys) && len(back.Keys) >= len(it.Keys) {
					rt.Fatalf("all %d keys are stored: the test is too easy", len(it.Keys))
				}
				folded = append(folded, back)
			}
			return folded
		}
		minutes := stored(heat.ByMinute, stored(heat.ByWindow, w.items, w.base), 4*w.base)
		at := 0
		for _, it := range minutes {
			for ; at < w.windows && noon.Add(time.Duration(at)*w.base).Before(it.Start); at++ {
				if len(w.truth[at]) > 0 {
					rt.Fatalf("window %d has writes and is in no item", at)
				}
			}
			truth, top := make(map[[2]string]uint64), make(map[[2]string]uint64)
			most := mostOf(it)
			var units, indexUnits uint64
			for ; at < w.windows && noon.Add(time.Duration(at)*w.base).Before(it.End()); at++ {
				for key, n := range w.truth[at] {
					truth[key] += n
					top[key] = max(top[key], n)
					if bound := most(key); n > bound {
						rt.Fatalf("%v has %d units in window %d, above the item's bound of %d", key, n, at, bound)
					}
					if key[0] == "" {
						units += n
					} else {
						indexUnits += n
					}
				}
			}
			if it.Units != units || it.IndexUnits["by_rank"] != indexUnits {
				rt.Fatalf("%d units of the table and %d of the index, want %d and %d", it.Units, it.IndexUnits["by_rank"], units, indexUnits)
			}
			for _, k := range it.Keys {
				id := [2]string{k.Index, k.Key}
				if k.Units > truth[id] || k.Units+k.Err < truth[id] || k.Top > top[id] || k.Top+k.TopErr < w.truth[int(k.TopAt.Sub(noon)/w.base)][id] {
					rt.Fatalf("%v has %d units, %d in the heaviest window; the item has %d+%d and %d+%d", id, truth[id], top[id], k.Units, k.Err, k.Top, k.TopErr)
				}
				delete(truth, id)
			}
			for id, n := range truth { // unlisted keys
				if rest := map[bool]uint64{false: it.Rest, true: it.IndexRest}[id[0] != ""]; n > rest {
					rt.Fatalf("the unlisted key %v has %d units, above the rest of %d", id, n, rest)
				}
			}
		}
	})
}

// mostOf returns the upper bound of a key's units in any base window of an item.
func mostOf(it heat.Item) func(key [2]string) uint64 {
	it = it.AtMost()
	listed := make(map[[2]string]uint64)
	for _, k := range it.Keys {
		listed[[2]string{k.Index, k.Key}] = k.Units + k.Err
	}
	return func(key [2]string) uint64 {
		rest := map[bool]uint64{false: it.Rest, true: it.IndexRest}[key[0] != ""]
		if most, ok := listed[key]; ok {
			return most
		}
		return rest
	}
}

// TestFoldedForm pins the primary keys of stored folded items, by layer, and checks that they decode to the same items.
func TestFoldedForm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	for layer, pk := range map[heat.Layer]string{heat.ByWindow: "H#w#2026-01-05T12", heat.ByMinute: "H#1m#2026-01-05", heat.ByTenMinutes: "H#10m#2026-01-05"} {
		w := newWorld(random, []string{"C#a#0", "C#b#0"})
		it := heat.Fold(w.items, noon, time.Hour)
		it.Table = "orders"
		attributes := layer.Stored(&it, noon)
		if got := dynamo.Text(attributes, "pk"); got != pk || !slices.Contains(layer.Partitions(noon, noon.Add(time.Minute)), got) {
			t.Errorf("pk %q, want %q", got, pk)
		}
		if got, want := dynamo.Text(attributes, "sk"), fmt.Sprintf("2026-01-05T12:00:00.000Z#orders#%d", w.base.Milliseconds()); got != want {
			t.Errorf("sk %q, want %q", got, want)
		}
		back, err := heat.Parse(attributes)
		if diff := cmp.Diff(it, back, cmpopts.EquateApprox(0, 0.01)); err != nil || diff != "" {
			t.Errorf("error %v, item (-put +got):\n%s", err, diff)
		}
	}
}

// TestLayerFold checks that windows of different tables or lengths are folded into separate items.
func TestLayerFold(t *testing.T) {
	item := func(table string, second int, length time.Duration) heat.Item {
		return heat.Item{Table: table, Start: noon.Add(time.Duration(second) * time.Second), Window: length, Limit: 1000, HotRate: 700, Units: 1, Keys: []heat.Key{key("a", 1, 0, 1, 0)}}
	}
	items := []heat.Item{item("", 0, 10*time.Second), item("", 10, 10*time.Second), item("t", 0, 10*time.Second), item("", 30, 15*time.Minute)}
	got := heat.ByMinute.Fold(items, noon)
	type form struct {
		Table                string
		Start                int
		Base, Length         time.Duration
		Units, FirstKeyUnits uint64
	}
	var forms []form
	for _, it := range got {
		forms = append(forms, form{it.Table, int(it.Start.Sub(noon).Seconds()), it.Base, it.Window, it.Units, it.Keys[0].Units})
	}
	want := []form{{"", 0, 10 * time.Second, time.Minute, 2, 2}, {"", 30, 15 * time.Minute, 15 * time.Minute, 1, 1}, {"t", 0, 10 * time.Second, time.Minute, 1, 1}}
	if diff := cmp.Diff(want, forms); diff != "" {
		t.Errorf("folded items (-want +got):\n%s", diff)
	}
}

// TestProgressForm checks that a stored progress and a late note decode to the same values. Missing attributes are
// errors.
func TestProgressForm(t *testing.T) {
	want := heat.Progress{From: noon, To: noon.Add(time.Hour), Late: noon.Add(time.Minute)}
	got, err := heat.ParseProgress(want.Attributes())
	if err != nil || got != want {
		t.Errorf("progress %+v, %v; want %+v", got, err, want)
	}
	if _, err := heat.ParseProgress(nil); err == nil {
		t.Error("ParseProgress accepts no attributes")
	}
	it := heat.Item{Start: noon, StreamShard: "s"}
	late, err := heat.ParseLate(it.LateNote(noon.Add(time.Second), noon.Add(time.Minute), noon.Add(time.Hour)))
	if err != nil || late != (heat.Late{Start: noon, End: noon.Add(time.Second), Noted: noon.Add(time.Minute)}) {
		t.Errorf("late note %+v, %v", late, err)
	}
	if _, err := heat.ParseLate(nil); err == nil {
		t.Error("ParseLate accepts no attributes")
	}
}
