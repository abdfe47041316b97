package heat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
)

var zero = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// at returns the time some seconds after zero.
func at(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }

// TestTimesRelate checks how the times of windows, minutes and blocks relate.
func TestTimesRelate(t *testing.T) {
	for name, ok := range map[string]bool{
		"held windows have the time of others":        heldTime > OnTime,
		"held windows are in one hour's partition":    time.Hour%MaxHold == 0,
		"blocks have whole minutes":                   Blocks.Length()%Minutes.Length() == 0 && 24*time.Hour%Blocks.Length() == 0,
		"held windows end within a block":             Blocks.Length()%MaxHold == 0,
		"a minute has whole windows":                  time.Minute%defaultWindow == 0,
		"a minute keeps more keys than a busy window": seriesTraits[Minutes].keys > BusyKeys && BusyKeys > HeldKeys,
		"a stored item fits into DynamoDB's":          max(maxBytes+maxIndexBytes, maxSpanBytes) < 400*1024,
		"the largest packed key fits into an item":    2048+maxPackedNumbers+maxPackedTop < maxIndexBytes,
	} {
		if !ok {
			t.Error(name)
		}
	}
}

// TestVerdict checks the status at its bounds, and its names.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		rate, limit, hot float64
		want             Status
	}{
		{69.9, 100, 70, Normal}, {70, 100, 70, Hot}, {94.9, 100, 70, Hot}, {95, 100, 70, Saturated}, {96, 100, 97, Normal}, {97, 100, 97, Saturated}, {0, 100, 70, Normal},
	} {
		if got := Verdict(c.rate, c.limit, c.hot); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for s, want := range map[Status]string{Normal: `"normal"`, Hot: `"hot"`, Saturated: `"saturated"`, 3: `"status 3"`} {
		text, err := json.Marshal(s)
		var back Status
		if backErr := json.Unmarshal(text, &back); err != nil || string(text) != want || (backErr == nil) != (s <= Saturated) || backErr == nil && back != s {
			t.Errorf("%d: %s, %v, %v", s, text, err, backErr)
		}
	}
}

// TestUnreadableWindows checks the share of a window that can't be read.
func TestUnreadableWindows(t *testing.T) {
	for _, c := range []struct {
		items, unreadable int
		unread            float64
	}{{0, 0, 0}, {2, 0, 0}, {0, 1, 1}, {1, 2, 2.0 / 3}} {
		w := Window{Items: make([]Item, c.items), Unreadable: make([]error, c.unreadable)}
		if w.Unread() != c.unread {
			t.Errorf("%+v: %v", c, w.Unread())
		}
	}
}

// TestSortKeys checks the time and the stream shard in sort keys.
func TestSortKeys(t *testing.T) {
	for sk, ok := range map[string]bool{"2026-01-05T12:00:00.000Z#s#p": true, "2026-01-05T12:00:00.000Z": true, "2026-01-05T12:00:00.00": false, "": false, "x": false} {
		got, found := Start(map[string]types.AttributeValue{"sk": &types.AttributeValueMemberS{Value: sk}})
		if found != ok || ok && !got.Equal(zero) {
			t.Errorf("%q: %v, %t", sk, got, found)
		}
	}
	if _, ok := Start(map[string]types.AttributeValue{"sk": &types.AttributeValueMemberN{Value: "1"}}); ok {
		t.Error("a number has a time")
	}
	for sk, want := range map[string][2]string{"t#s#": {"s", ""}, "t#s#p": {"s", "p"}, "t#a#b#p": {"a#b", "p"}, "t##": {}, "t": {}, "t#s": {"", "s"}} {
		if shard, part := sourceOf(sk); shard != want[0] || part != want[1] {
			t.Errorf("%q: %q, %q", sk, shard, part)
		}
	}
	if pk := LateMark(at(599), zero)["pk"].(*types.AttributeValueMemberS).Value; pk != "H#10m#2026-01-05" || sortKey(LateMark(at(599), zero)) != "2026-01-05T12:00:00.000Z#late" {
		t.Errorf("a mark at %s", pk)
	}
	for _, c := range []struct {
		held time.Duration
		want time.Time
	}{{0, at(0)}, {time.Minute, at(240)}, {MaxHold, at(0)}} {
		if got := (&Progress{Held: c.held}).HeldSince(at(299)); !got.Equal(c.want) {
			t.Errorf("held for %v: since %v", c.held, got)
		}
	}
}

// TestRests checks what items may hide of an unlisted key: the most of two stream shards, and the sum for an index.
func TestRests(t *testing.T) {
	for _, c := range []struct {
		shards       string
		rests        []uint64
		table, index uint64
	}{
		{"", nil, 0, 0}, {"a", []uint64{5}, 5, 1}, {"ab", []uint64{5, 3}, 8, 2}, {"abc", []uint64{5, 3, 4}, 9, 3}, {"abc", []uint64{3, 5, 4}, 9, 3}, {"abc", []uint64{5, 5, 5}, 10, 3},
		{"aab", []uint64{2, 2, 3}, 7, 3}, {"abab", []uint64{3, 2, 1, 4}, 10, 4}, {"abb", []uint64{3, 2, 2}, 7, 3}, {"abca", []uint64{3, 4, 1, 3}, 10, 4},
	} {
		var r Rests
		for i, rest := range c.rests {
			r.Add(&Item{StreamShard: c.shards[i : i+1], Rest: rest, IndexRest: 1})
		}
		if r.Unlisted(false) != c.table || r.Unlisted(true) != c.index {
			t.Errorf("%s with %v: %d and %d, want %d and %d", c.shards, c.rests, r.Unlisted(false), r.Unlisted(true), c.table, c.index)
		}
	}
}

// TestCoverage checks the share of records that was read.
func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		items []Item
		want  float64
	}{
		{[]Item{{Records: 5}, {Records: 5, Coverage: 1}}, 0},
		{[]Item{{Records: 5, Coverage: 0.5}, {Records: 10}}, 0.75},
		{[]Item{{Coverage: 0.5}, {}}, 0.75},
		{[]Item{{Records: 5, Coverage: 0.25}}, 0.25},
	} {
		if got := coverage(c.items); got != c.want {
			t.Errorf("%+v: %v, want %v", c.items, got, c.want)
		}
	}
}

// tenSeconds returns the item of a window of 10 s.
func tenSeconds(second int, streamShard string, rest uint64, keys ...Key) Item {
	it := Item{Own: "events", Start: at(second), Window: 10 * time.Second, StreamShard: streamShard, Limit: 100, HotRate: 70, Rest: rest, IndexRest: 2, Records: 3, Keys: keys}
	for _, k := range keys {
		if k.Index == "" {
			it.Units += k.Units
		}
	}
	return it
}

// TestFoldOfTwoWindows checks all fields of a folded item, and the most that one of its windows can have.
func TestFoldOfTwoWindows(t *testing.T) {
	first := tenSeconds(0, "1", 5, Key{Key: "a", Units: 100, Err: 1, Writes: 50, Peak: 30, PeakAt: at(3)}, Key{Key: "b", Units: 40, Writes: 4, Peak: 9, PeakAt: at(2)}, Key{Index: "i", Key: "a", Units: 7, Writes: 7, Peak: 7, PeakAt: at(1)})
	other := tenSeconds(0, "2", 4, Key{Key: "a", Units: 20, Err: 2, Writes: 5, Peak: 8, PeakAt: at(3)})
	second := tenSeconds(10, "1", 3, Key{Key: "a", Units: 60, Writes: 6, Peak: 38, PeakAt: at(15)}, Key{Key: "b", Units: 40, Peak: 12, PeakAt: at(12)})
	second.Limit, second.HotRate, second.Incomplete = 90, 60, true
	second.IndexUnits, first.IndexUnits = map[string]uint64{"i": 1}, map[string]uint64{"i": 7}
	want := Item{
		Own: "events", Start: zero, Window: time.Minute, Base: 10 * time.Second, Records: 9, Units: 260, IndexUnits: map[string]uint64{"i": 8}, Limit: 90, HotRate: 60, Incomplete: true,
		Rest: 9 + 3, TopRest: 9, IndexRest: 4 + 2, TopIndexRest: 4,
		Keys: []Key{
			{Key: "a", Units: 180, Err: 3, Writes: 61, Peak: 38, PeakAt: at(3), Top: 120, TopErr: 3, TopAt: zero, TopMost: 123},
			{Key: "b", Units: 80, Err: 4, Peak: 12, PeakAt: at(12), Top: 40, TopErr: 4, TopAt: zero, TopMost: 44},
			{Index: "i", Key: "a", Units: 7, Err: 2 + 2, Writes: 7, Peak: 7, PeakAt: at(1), Top: 7, TopErr: 2, TopAt: zero, TopMost: 9},
		},
	}
	got := Fold([]Item{first, other, second}, zero, time.Minute)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folded item (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, Fold([]Item{got}, zero, time.Minute)); diff != "" {
		t.Errorf("folded again (-want +got):\n%s", diff)
	}
	most := got.AtMost()
	if most.Window != 10*time.Second || most.Base != 0 || most.Rest != 9 || most.IndexRest != 4 || most.Keys[0].Units != 123 || most.Keys[0].Err != 0 || most.Keys[1].Units != 44 || most.Keys[2].Units != 9 {
		t.Errorf("at most %+v", most)
	}
	light := got
	light.Rest, light.TopRest = 200, 190
	if most := light.AtMost(); most.Keys[0].Units != 190 || most.Keys[2].Units != 9 {
		t.Errorf("keys that a window may not list: at most %+v", most.Keys)
	}
	light.Base, light.Window = time.Minute, time.Minute
	if most := light.AtMost(); most.Keys[0].Units != 123 {
		t.Errorf("one window: at most %+v", most.Keys)
	}
	if same := first.AtMost(); same.Rest != 5 || same.Keys[0].Err != 1 {
		t.Errorf("an item of a window: at most %+v", same)
	}
}

// TestStoredTopsOfKeys checks that a folded item's key keeps its top, whichever part of it differs from the whole.
func TestStoredTopsOfKeys(t *testing.T) {
	for _, k := range []Key{{Top: 10, TopErr: 2, TopMost: 12, TopAt: zero}, {Top: 9, TopErr: 2, TopMost: 12, TopAt: zero}, {Top: 10, TopErr: 1, TopMost: 12, TopAt: zero}, {Top: 10, TopErr: 2, TopMost: 11, TopAt: zero}, {Top: 10, TopErr: 2, TopMost: 12, TopAt: at(10)}} {
		k.Key, k.Units, k.Err, k.Writes, k.PeakAt = "a", 10, 2, 10, zero
		it := Item{Start: zero, Window: time.Minute, Base: 10 * time.Second, Limit: 100, HotRate: 70, Units: 10, Keys: []Key{k}}
		if got, err := Parse(Blocks.Stored(&Span{Start: zero, Windows: []Item{it}}, zero)); err != nil || !slices.Equal(got.Keys, it.Keys) {
			t.Errorf("%+v is read as %+v, %v", k, got.Keys, err)
		}
	}
	for writes, want := range map[uint64]uint64{0: 0, 1: 4} { // of a second entry
		tally := tally{entries: []entry{{key: &Key{Writes: 3}}, {key: &Key{Writes: writes}}}}
		if got := tally.writes(); got != want {
			t.Errorf("3 and %d writes are %d, want %d", writes, got, want)
		}
	}
}

// TestOrderOfKeys checks that keys of the table come first, then the heavier ones, by the top if it is known.
func TestOrderOfKeys(t *testing.T) {
	keys := []Key{{Index: "i", Key: "x", Units: 99}, {Key: "b", Units: 5}, {Key: "a", Units: 5}, {Key: "c", Units: 7}, {Key: "d", Units: 1, Top: 9, TopAt: zero}, {Index: "j", Key: "x", Units: 99}, {Index: "i", Key: "y", Units: 100}}
	slices.SortFunc(keys, compareWeights)
	var names []string
	for _, k := range keys {
		names = append(names, k.Index+k.Key)
	}
	if got := strings.Join(names, " "); got != "d c a b iy ix jx" {
		t.Error(got)
	}
}

// TestTrimmed checks the number, the rate and the bytes of the keys that are kept, and the rests of the others.
func TestTrimmed(t *testing.T) {
	it := Item{Window: 10 * time.Second, Rest: 1, IndexRest: 1, Keys: []Key{{Key: "a", Units: 500, Err: 9}, {Key: "b", Units: 400, Err: 9}, {Key: "c", Units: 300, Err: 9}, {Index: "i", Key: "a", Units: 50}, {Index: "i", Key: "b", Units: 40, Err: 2}}}
	folded := it
	folded.Base, folded.TopRest, folded.TopIndexRest, folded.Keys = 10*time.Second, 2, 2, slices.Clone(it.Keys)
	for i := range folded.Keys {
		folded.Keys[i].TopMost = uint64(7 * (5 - i))
	}
	for _, c := range []struct {
		it                 Item
		table, indexes     keyLimits
		keys               int
		rest, indexRest    uint64
		topRest, indexMost uint64
	}{
		{it, keyLimits{5, 0, 1000}, keyLimits{5, 0, 1000}, 5, 1, 1, 0, 0},
		{it, keyLimits{1, 1000, 1000}, keyLimits{0, 1000, 1000}, 1, 409, 50, 0, 0},
		{it, keyLimits{1, 40, 1000}, keyLimits{1, 4, 1000}, 4, 309, 1, 0, 0},
		{it, keyLimits{5, 0, 2 * 71}, keyLimits{5, 0, 72}, 3, 309, 42, 0, 0},
		{it, keyLimits{5, 0, 2*71 - 1}, keyLimits{5, 0, 71}, 1, 409, 50, 0, 0},
		{folded, keyLimits{1, 1000, 1000}, keyLimits{1, 1000, 1000}, 2, 409, 42, 28, 7},
		{folded, keyLimits{5, 0, 2 * 111}, keyLimits{5, 0, 1000}, 4, 309, 1, 21, 2},
	} {
		got := c.it.trimmed(c.table, c.indexes)
		if c.it.Base == 0 {
			c.topRest, c.indexMost = got.TopRest, got.TopIndexRest
		}
		if len(got.Keys) != c.keys || got.Rest != c.rest || got.IndexRest != c.indexRest || got.TopRest != c.topRest || got.TopIndexRest != c.indexMost {
			t.Errorf("%+v, %+v: %d keys, rests %d and %d, of tops %d and %d", c.table, c.indexes, len(got.Keys), got.Rest, got.IndexRest, got.TopRest, got.TopIndexRest)
		}
	}
}

// TestKeepHeaviest checks which keys windows that are stored together keep.
func TestKeepHeaviest(t *testing.T) {
	items := []Item{tenSeconds(0, "s", 1, Key{Key: "a", Units: 5, Err: 1}, Key{Key: "b", Units: 4}, Key{Index: "i", Key: "a", Units: 3, Err: 2}), tenSeconds(10, "s", 9, Key{Key: "b", Units: 4, Err: 3})}
	for most, want := range map[int]string{
		0: "0:  6 5; 1:  9 2", 1: "0: b 6 5; 1: b 9 2", 2: "0: a b 1 5; 1: b 9 2", 3: "0: a b ia 1 2; 1: b 9 2", 9: "0: a b ia 1 2; 1: b 9 2",
	} {
		var texts []string
		for i, it := range keepHeaviest(items, most) {
			var names []string
			for _, k := range it.Keys {
				names = append(names, k.Index+k.Key)
			}
			texts = append(texts, fmt.Sprintf("%d: %s %d %d", i, strings.Join(names, " "), it.Rest, it.IndexRest))
		}
		if got := strings.Join(texts, "; "); got != want {
			t.Errorf("at most %d: %s, want %s", most, got, want)
		}
	}
	if len(items[0].Keys) != 3 || items[0].Rest != 1 {
		t.Errorf("the items were changed: %+v", items[0])
	}
}

// TestVerdictsOfAWindow checks a key's verdicts by its rate, its heaviest second and the newest complete window.
func TestVerdictsOfAWindow(t *testing.T) {
	for name, c := range map[string]struct {
		units, peak uint64
		peakAt      int
		asOf        int // seconds after the window's start
		want        Verdicts
	}{
		"normal":                  {699, 99, 3, 10, Verdicts{Current: 69.9}},
		"normal, later":           {699, 99, 3, 11, Verdicts{}},
		"open":                    {699, 99, 3, 0, Verdicts{}},
		"half open":               {699, 99, 3, 1, Verdicts{Current: 69.9}},
		"hot":                     {700, 99, 3, 10, Verdicts{Worst: Hot, Now: Hot, Current: 70, HotUntil: at(10)}},
		"hot, one window later":   {700, 99, 3, 29, Verdicts{Worst: Hot, Now: Hot, HotUntil: at(10)}},
		"hot, two windows later":  {700, 99, 3, 30, Verdicts{Worst: Hot, HotUntil: at(10)}},
		"one second":              {100, 100, 3, 10, Verdicts{Worst: Hot, Now: Hot, Current: 10, HotUntil: at(10)}},
		"a second at the end":     {100, 100, 12, 40, Verdicts{Worst: Hot, HotUntil: at(10)}},
		"a second before":         {100, 100, -1, 40, Verdicts{Worst: Hot, HotUntil: at(10)}},
		"saturated, and a second": {950, 100, 3, 10, Verdicts{Worst: Saturated, Now: Saturated, Current: 95, HotUntil: at(10)}},
	} {
		it := tenSeconds(0, "s", 0, Key{Key: "a", Units: c.units, Peak: c.peak, PeakAt: at(c.peakAt)})
		var a tallier
		a.reset([]Item{it})
		for tally := range a.tallies() {
			if got := tally.verdicts(at(c.asOf)); got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		}
		if got, want := Current(Window{Items: []Item{it}}, at(c.asOf)), c.asOf < 30; got != want {
			t.Errorf("%s: the window decides: %t", name, got)
		}
	}
	folded := Fold([]Item{tenSeconds(0, "s", 0, Key{Key: "a", Units: 100, Peak: 100, PeakAt: at(23)}), tenSeconds(20, "s", 0)}, zero, time.Minute)
	var a tallier
	a.reset([]Item{folded})
	for tally := range a.tallies() {
		if got := tally.verdicts(at(60)); !got.HotUntil.Equal(at(30)) || got.Now != Normal {
			t.Errorf("a second of a folded item: %+v", got)
		}
	}
}

// TestJoinedVerdicts checks the verdicts of several rows and windows, and when a key has cooled.
func TestJoinedVerdicts(t *testing.T) {
	v := Verdicts{Worst: Hot, Now: Normal, Current: 5, HotUntil: at(10)}
	for _, c := range []struct{ other, want Verdicts }{
		{Verdicts{}, v},
		{Verdicts{Worst: Saturated, Now: Hot, Current: 4, HotUntil: at(9)}, Verdicts{Saturated, Hot, 5, at(10)}},
		{Verdicts{Worst: Normal, Current: 6, HotUntil: at(11)}, Verdicts{Hot, Normal, 6, at(11)}},
	} {
		got := v
		if got.join(c.other); got != c.want {
			t.Errorf("%+v: %+v", c.other, got)
		}
	}
	for _, c := range []struct {
		v    Verdicts
		want time.Time
	}{{v, at(10)}, {Verdicts{Worst: Hot, Now: Hot, HotUntil: at(10)}, time.Time{}}, {Verdicts{HotUntil: at(10)}, time.Time{}}} {
		if got := c.v.CooledAt(); got != c.want {
			t.Errorf("%+v: cooled at %v", c.v, got)
		}
	}
	row := KeyHeat{Status: Hot, Peak: 5, PeakAt: at(1), FirstSeen: at(10), LastSeen: at(20), WriteUnitsPerSecond: 3}
	row.Join(&KeyHeat{Status: Normal, Peak: 5, PeakAt: at(2), FirstSeen: at(11), LastSeen: at(19), WriteUnitsPerSecond: 9})
	if row.Status != Hot || row.PeakAt != at(1) || row.FirstSeen != at(10) || row.LastSeen != at(20) || row.WriteUnitsPerSecond != 3 {
		t.Errorf("joined a lighter row: %+v", row)
	}
	row.Join(&KeyHeat{Verdicts: Verdicts{Worst: Hot}, Status: Saturated, Peak: 6, PeakAt: at(2), FirstSeen: at(9), LastSeen: at(21)})
	if row.Status != Saturated || row.Worst != Hot || row.Peak != 6 || row.PeakAt != at(2) || row.FirstSeen != at(9) || row.LastSeen != at(21) {
		t.Errorf("joined a heavier row: %+v", row)
	}
	growth := []Change{{Time: display.Time{Time: at(5)}, Before: 4, Shards: 16, By: "ingest"}, {Time: display.Time{Time: at(50)}, Before: 16, Shards: 4, By: "ingest"}, {Time: display.Time{Time: at(90)}, Before: 4, Shards: 16, By: "hotkeys"}}
	for _, c := range []struct {
		window time.Duration
		until  time.Time
	}{{0, at(10)}, {time.Minute, at(60)}} {
		row := KeyHeat{Window: c.window, Limit: 20, Peak: 10}
		if row.MarkGrowths(growth, at(10)); row.Worst != Hot || row.Now != Hot || !row.HotUntil.Equal(c.until) {
			t.Errorf("windows of %v, grown: %+v", c.window, row.Verdicts)
		}
	}
	neighbour := KeyHeat{Limit: 20, Peak: 9}
	if neighbour.MarkGrowths(growth, at(10)); neighbour.Worst != Normal {
		t.Errorf("a key that takes less than half a partition, grown: %+v", neighbour.Verdicts)
	}
}

// TestComplete checks which windows are complete: those that ended OnTime ago, or whose hold ended heldTime ago, up to the
// last item or the task's last run.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		base                    int // seconds of the newest item's windows, which are folded; 0 for no item
		window, hold            int // seconds
		last, ran, to, now, end int // seconds after zero
	}{
		{0, 0, 0, 0, 0, 0, 100, 0}, {0, 0, 0, 0, 100, 3, 100, 90}, {0, 10, 0, 0, 100, 0, 100, 90}, {0, 60, 0, 0, 100, 0, 200, 60}, {0, 10, 0, 0, 39, 0, 100, 30},
		{10, 0, 0, 20, 0, 0, 100, 20}, {10, 60, 0, 20, 0, 0, 24, 10}, {10, 0, 0, 20, 0, 0, 25, 20}, {10, 0, 0, 20, 59, 0, 60, 50}, {60, 10, 0, 60, 200, 0, 101, 90}, {60, 0, 0, 60, 200, 0, 124, 60},
		{10, 10, 60, 90, 0, 0, 74, 0}, {10, 10, 60, 90, 0, 0, 75, 60}, {10, 10, 60, 50, 0, 0, 100, 0}, {10, 10, 60, 90, 0, 70, 100, 70}, {10, 10, 10, 90, 0, 0, 24, 10},
	} {
		p := Progress{To: at(c.to), Ran: at(c.ran), Window: time.Duration(c.window) * time.Second, Hold: time.Duration(c.hold) * time.Second}
		var windows []Window
		if base := time.Duration(c.base) * time.Second; base > 0 {
			windows = []Window{{Items: []Item{{Start: at(c.last).Add(-base), Window: base}}}, {Items: []Item{{Start: at(c.last).Add(-base), Window: base, Base: base}}}, {}}
		}
		if got := p.Complete(windows, at(c.now)); !got.Equal(at(c.end)) {
			t.Errorf("%+v: %v", c, got.Sub(zero))
		}
	}
	if got := new(Progress).Complete(nil, at(100)); !got.IsZero() {
		t.Errorf("without a task and items: complete up to %v", got)
	}
}

// TestShares checks how the units of a window are divided among columns.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		start, length int
		want          string
	}{
		{0, 10, "0:0-10000"}, {5, 10, "0:0-5000 1:5000-10000"}, {-5, 10, "0:5000-10000"}, {-5, 40, "0:5000-15000 1:15000-25000 2:25000-35000"}, {25, 10, "2:0-5000"}, {30, 10, ""}, {-10, 10, ""}, {10, 10, "1:0-10000"},
	} {
		m := NewMap(MapOptions{From: zero, To: at(25), Step: 10 * time.Second, Rows: 1})
		var texts []string
		for column, s := range m.shares(&Item{Start: at(c.start), Window: time.Duration(c.length) * time.Second}) {
			texts = append(texts, fmt.Sprintf("%d:%d-%d", column, s.from, s.to))
		}
		if got := strings.Join(texts, " "); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	for _, c := range []struct {
		s     share
		units uint64
		want  uint64
	}{{share{0, 10, 10}, 7, 7}, {share{0, 5, 10}, 7, 3}, {share{5, 10, 10}, 7, 4}, {share{2, 4, 10}, 1 << 63, 1844674407370955162}} {
		if got := c.s.unitsOf(c.units); got != c.want {
			t.Errorf("%+v of %d: %d", c.s, c.units, got)
		}
	}
}

// TestNamesOfRows checks the tables, metrics' names and base keys of rows, and which are of a past day.
func TestNamesOfRows(t *testing.T) {
	for _, c := range []struct {
		row           KeyHeat
		table, metric string
		past          bool
	}{
		{KeyHeat{Key: "C#a#0"}, "items", "C#a", false},
		{KeyHeat{Key: "E#a#2026-01-05#0", Start: zero}, "events", "E#a", false},
		{KeyHeat{Key: "E#a#2026-01-04#0", Start: zero}, "events", "E#a", true},
		{KeyHeat{Key: "E#a#2026-01-06#0", Start: zero}, "events", "E#a", false},
		{KeyHeat{Index: "by_rank", Key: "L#a#all#3"}, "items", "L#a", false},
		{KeyHeat{Key: "L#a#all#3"}, "items", "L#a#all#3", false},
		{KeyHeat{Table: "orders", Key: "E#a#2026-01-04#0", Start: zero}, "orders", "E#a#2026-01-04#0", false},
		{KeyHeat{Key: "other"}, "items", "other", false},
	} {
		if got := c.row.TableName(); got != c.table || c.row.MetricName() != c.metric || c.row.isPastDay() != c.past {
			t.Errorf("%+v: %s, %s, %t", c.row, got, c.row.MetricName(), c.row.isPastDay())
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"C#a#2", "C#a#10", -1}, {"C#a#10", "C#b#2", -1}, {"C#a#2", "C#a#2", 0}, {"other", "C#a#2", 1}, {"E#a#2026-01-05#0", "E#a#2026-01-04#9", 1}} {
		if got := CompareShards(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %d", c.a, c.b, got)
		}
	}
}

// TestAdviceOnMoments checks which window advice is for, and what it says without one or for single hot seconds.
func TestAdviceOnMoments(t *testing.T) {
	changed := Sharding{Kind: schema.Counter, Shards: 4, Before: 1, Changed: at(10), Partitions: 100}
	windows := []KeyHeat{
		{Start: at(0), WriteUnitsPerSecond: 99, Verdicts: Verdicts{Worst: Saturated}}, {Start: at(10), WriteUnitsPerSecond: 30}, {Start: at(20), WriteUnitsPerSecond: 20, Verdicts: Verdicts{Worst: Hot}}, {Start: at(30), WriteUnitsPerSecond: 19, Verdicts: Verdicts{Worst: Hot}}, {Start: at(40), WriteUnitsPerSecond: 60},
	}
	if most := changed.WorstWindow(windows); most != &windows[2] {
		t.Errorf("the moment is %+v", most)
	}
	if most := changed.WorstWindow(windows[:1]); most != nil {
		t.Errorf("the moment before the change is %+v", most)
	}
	hot := KeyHeat{Key: "C#a#0", Limit: 100, WriteUnitsPerSecond: 80, Peak: 100, Start: at(20), Verdicts: Verdicts{Worst: Hot, Now: Hot, Current: 80}}
	second := hot
	second.WriteUnitsPerSecond, second.Status = 20, Normal
	skewed := hot
	skewed.Index, skewed.Key, skewed.Status, skewed.Siblings = "by_rank", "L#a#all#3", Hot, Siblings{Seen: 4, Low: 81, High: 81}
	for _, c := range []struct {
		now  *KeyHeat
		s    Sharding
		want string
	}{
		{nil, changed, "Resharded to 4 at 12:00:10; watching whether it cools."},
		{nil, Sharding{}, "Its heaviest second took 0 WCU, and a partition takes 100 WCU/s; its mean stays below. No action needed unless its writes are throttled."},
		{&second, Sharding{Kind: schema.Counter, Shards: 4}, "Its heaviest second took 100 WCU, and a partition takes 100 WCU/s; its mean stays below. It grows by itself when writes are throttled."},
		{&second, changed, "Its heaviest second took 100 WCU, and a partition takes 100 WCU/s; its mean stays below. It grows by itself when writes are throttled."},
		{&windows[1], changed, "Resharded to 4 at 12:00:10; watching whether it cools."},
		{&skewed, Sharding{Kind: schema.Board, Shards: 4, Partitions: 100}, "Using at least 80% of a partition's 100 WCU/s. Its 4 write shards together take 81.0 WCU/s, most of that in write shard 3, so more of them would stand idle: spread its writes over more " + schema.TraitsOf(schema.Board).PlacedBy + "."},
	} {
		if got := hot.Advice(c.now, c.s); got != c.want {
			t.Errorf("%+v: %s", c.s, got)
		}
	}
	if got := adviseEvenOut(schema.Counter); !strings.Contains(got, "at random") {
		t.Error(got)
	}
}

// TestKeysOfOwnTables checks the base keys of keys and rows.
func TestKeysOfOwnTables(t *testing.T) {
	for _, c := range []struct {
		key  Key
		want string
	}{{Key{Key: "C#a#3"}, "C#a"}, {Key{Index: "by_rank", Key: "L#a#all#3"}, "L#a"}, {Key{Key: "L#a#all#3"}, ""}, {Key{Key: "x"}, ""}} {
		if base, ok := c.key.Base(); ok != (c.want != "") || ok && base.String() != c.want {
			t.Errorf("%+v: %v, %t", c.key, base, ok)
		}
	}
	if base := (&Row{Type: schema.Counter, Name: "a"}).Base(); base.String() != "C#a" {
		t.Errorf("a row has the base key %v", base)
	}
}

// TestCounts checks which items of a window, put in time or late, have the records of a redelivered one: none, some or
// all.
func TestCounts(t *testing.T) {
	item := func(part, last string, records uint64) Item {
		it := tenSeconds(0, "s", 0)
		it.Part, it.Last, it.Records = part, last, records
		return it
	}
	none, some, all := [2]bool{}, [2]bool{true, false}, [2]bool{true, true}
	for _, c := range []struct {
		stored, again Item
		want          [2]bool
	}{
		{item("7", "", 5), item("7", "", 5), all},
		{item("7", "", 5), item("7", "", 4), all},
		{item("7", "", 5), item("7", "", 6), some},
		{item("7", "", 5), item("8", "", 5), none},
		{item("9", "12", 4), item("8", "12", 4), none},
		{item("9", "12", 4), item("9", "15", 4), all}, // later records are of other windows
		{item("9", "12", 4), item("9", "15", 5), some},
		{item("9", "12", 4), item("10", "12", 3), all},
		{item("9", "12", 4), item("10", "11", 2), all},
		{item("9", "12", 4), item("10", "13", 1), some},
		{item("9", "12", 4), item("12", "", 1), all},
		{item("9", "12", 4), item("13", "14", 1), none},
		{item("9", "12", 4), item("none", "", 0), none},
		{item("none", "", 0), item("none", "", 0), all},
	} {
		stored := c.stored.Stored(zero)
		partitions, low, high := c.again.KeysOfWindow()
		if sk := sortKey(stored); stored["pk"].(*types.AttributeValueMemberS).Value != partitions[Prompt] || sk < low || sk > high {
			t.Errorf("%s is not in %v from %s to %s", sk, partitions, low, high)
		}
		c.stored.MakeLate(stored)
		first, whole := CountsRecords(stored, []Item{c.again})
		if stored["pk"].(*types.AttributeValueMemberS).Value != partitions[Late] || first != c.want[0] || whole != c.want[1] {
			t.Errorf("%s to %s, again %s to %s of %d: %t, %t, want %t", c.stored.Part, c.stored.Last, c.again.Part, c.again.Last, c.again.Records, first, whole, c.want)
		}
	}
	two := []Item{item("7", "", 2), item("8", "", 3)}
	two[1].Start = at(10)
	stored := StoredHeld(two, zero)
	if first, whole := CountsRecords(stored, two); !first || !whole {
		t.Errorf("held windows: %t, %t", first, whole)
	}
	if first, whole := CountsRecords(stored, append(two, item("9", "", 1))); !first || whole {
		t.Errorf("a held window more: %t, %t", first, whole)
	}
	if first, whole := CountsRecords(nil, two); first || whole {
		t.Error("an unreadable item counts")
	}
}
