package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// crowdedDay returns a report of 10,000 keys, of which user#hot is hot in stratum 100.
func crowdedDay(t *testing.T) *Sampled {
	t.Helper()
	return day(t, func(stratum int, s *Slice) {
		for i := range 300 {
			s.Keys[fmt.Sprintf("user#%04d", (stratum*7+i)%10_000)] = Tally{Units: 2, Writes: 2}
		}
		if stratum == 100 {
			s.Keys["user#hot"] = Tally{Units: 900, Writes: 900}
		}
	})
}

// checkTotals checks that the rows and the rest of each column add up to its total. It returns the sum of all columns.
func checkTotals(t *testing.T, d Data) (total uint64) {
	t.Helper()
	for c := range d.Heat.Total {
		sum := d.Heat.Rest[c]
		for _, row := range d.Heat.Rows {
			sum += row.Units[c]
		}
		if sum != d.Heat.Total[c] {
			t.Fatalf("%d rows, column %d: rows and rest have %d units, the total is %d", len(d.Heat.Rows), c, sum, d.Heat.Total[c])
		}
		total += sum
	}
	return total
}

// TestDataOfSample checks the estimates of a sample. A hot key has a row of its own, and a day of many keys has at most
// 1.5 MB.
func TestDataOfSample(t *testing.T) {
	d := crowdedDay(t).Data(Streams{Shards: []StreamShard{
		{ID: "a"}, {ID: "b", Parent: "a", First: begin.Add(2 * time.Hour)}, {ID: "c", Parent: "a", First: begin.Add(time.Hour)}, {ID: "d", Parent: "b"},
	}}, map[string]int{"GetRecords": 200_000, "DescribeStream": 1})
	for c, covered := range d.Heat.Covered {
		if covered < 0.0199 || covered > 0.0201 {
			t.Fatalf("column %d: coverage %v, want 0.02", c, covered)
		}
	}
	if total, want := checkTotals(t, d), uint64(50*(1728*600+900)); total != want {
		t.Errorf("%d units in all columns, want %d", total, want)
	}
	found := false
	for _, row := range d.Heat.Rows {
		if row.Key != "user#hot" {
			continue
		}
		found = true
		if row.Keys != 1 || row.Status != heat.Hot && row.Status != heat.Saturated || row.Units[100/12] != 45_000 || row.Error[100/12] < 45_000 {
			t.Errorf("row of the hot key: %+v, want one hot key with 45,000 units and at least that error in column 8", row)
		}
	}
	if !found || len(d.Heat.Rows) > 256 || len(d.Heat.Rows) < 200 {
		t.Errorf("%d rows, with the hot key: %t; want 200 to 256 with it", len(d.Heat.Rows), found)
	}
	if len(d.Splits) != 1 || d.Splits[0] != (Split{stamp(begin.Add(time.Hour)), "a", 2}) {
		t.Errorf("splits %+v, want one of a into 2, at the first record of c", d.Splits)
	}
	if d.Read.Share < 0.0199 || d.Read.Share > 0.0201 || d.Read.Calls != 200_001 || d.Read.StreamShards != 4 || d.Cost.USD != 0.04 {
		t.Errorf("read %+v, cost %+v", d.Read, d.Cost)
	}
	if len(d.Summary) != 2 || !strings.Contains(d.Summary[1], `"user#hot"`) || len(d.Todo) != 1 {
		t.Errorf("summary %q, to do %q", d.Summary, d.Todo)
	}
	text, err := json.Marshal(d)
	if err != nil || len(text) > 1_500_000 {
		t.Errorf("%d bytes of JSON, %v; want at most 1,500,000", len(text), err)
	}
	t.Logf("%d bytes", len(text))
}

// TestDataOfWindows checks that successive hot windows of a complete count are one storm. Its rate is the certified
// rate of the hottest window.
func TestDataOfWindows(t *testing.T) {
	s := settings
	s.From, s.To = begin, begin.Add(time.Hour)
	r := FromWindows(s)
	for i := range 360 {
		it := heat.Item{Table: "orders", Start: begin.Add(time.Duration(i) * 10 * time.Second), Window: 10 * time.Second, StreamShard: "s", Limit: 1000, HotRate: 700, Units: 9000, Records: 9000}
		if i >= 10 && i < 16 || i == 200 {
			it.Keys = []heat.Key{{Key: "hot", Units: uint64(7500 + i), Err: 100, PeakAt: it.Start}}
		}
		r.Add(heat.Window{Start: it.Start, Items: []heat.Item{it}})
	}
	d := r.Data(map[string]int{"Query": 3})
	if len(d.Storms) != 2 {
		t.Fatalf("%d storms, want 2: %+v", len(d.Storms), d.Storms)
	}
	first, second := d.Storms[0], d.Storms[1]
	if first.From != stamp(begin.Add(2000*time.Second)) || first.Rate != 770 || first.Low != 770 || first.High != 780 || first.Kind != OneKey {
		t.Errorf("hottest storm: %+v, want one key from second 2,000 at 770 to 780 WCU/s", first)
	}
	if second.From != stamp(begin.Add(100*time.Second)) || second.To != stamp(begin.Add(160*time.Second)) || second.Rate != 751.5 {
		t.Errorf("second storm: %+v, want seconds 100 to 160 at 751.5 WCU/s", second)
	}
	if d.Read.Share != 1 || d.Read.Records != 360*9000 || d.Heat.Step.String() != "30s" || len(d.Heat.Total) != 120 || d.Heat.Total[0] != 27_000 {
		t.Errorf("read %+v, step %s, totals %v", d.Read, d.Heat.Step, d.Heat.Total)
	}
}

// TestIdleTable checks that a report of an idle table says so, and that its lists are empty instead of null.
func TestIdleTable(t *testing.T) {
	d := day(t, func(int, *Slice) {}).Data(Streams{}, nil)
	if len(d.Storms) != 0 || len(d.Summary) != 2 || !strings.HasPrefix(d.Summary[0], "No hot-key event found") || d.Heat.Rows == nil || d.Splits == nil || d.Todo == nil || d.Storms == nil {
		t.Errorf("report %+v", d)
	}
}

// TestSpanOfSample checks what the summary says of the scanned range. It names the oldest data only if the range begins
// there. It names the whole stream only if the range has all of it.
func TestSpanOfSample(t *testing.T) {
	const oldest = "The oldest data is from"
	for _, c := range []struct {
		wanted   time.Duration
		share    float64
		oldest   time.Duration // before the end; 0 if the range was not shortened
		scanned  string
		sentence bool
	}{
		{24 * time.Hour, 0.003, 0, "of the stream (", false}, // 259 strata of 333 s lack 153 s
		{24 * time.Hour, 0.02, 3 * time.Hour, "of the stream (", true},
		{time.Hour, 1, 0, "Scanned 100% of the last 1h of the stream (", false},
		{time.Hour, 1, 20 * time.Minute, "Scanned 100% of the stream (", true},
		{90 * time.Minute, 1, 0, "Scanned 100% of the last 1h30m of the stream (", false},
	} {
		span := c.wanted
		if c.oldest > 0 {
			span = c.oldest
		}
		p, err := NewPlan(begin.Add(24*time.Hour), span, c.share, 7)
		if err != nil {
			t.Fatal(err)
		}
		s := settings
		s.From, s.To, s.Wanted, s.Oldest = p.From, p.To(), c.wanted, c.oldest > 0
		r := FromSample(s, p)
		for i := range p.Strata {
			r.Add(&Slice{StreamShard: "s", Stratum: i, Records: 1, Units: 1, Keys: map[string]Tally{"a": {Units: 1, Writes: 1}}})
		}
		text := strings.Join(r.Data(Streams{}, nil).Summary, "\n")
		if !strings.Contains(text, c.scanned) || strings.Contains(text, oldest) != c.sentence {
			t.Errorf("%v, share %v, oldest data at %v: summary %s\nwant %q, and %q: %t", c.wanted, c.share, c.oldest, text, c.scanned, oldest, c.sentence)
		}
	}
}

// TestHalve checks that the units of removed rows are added to the rest, and that the hottest row stays.
func TestHalve(t *testing.T) {
	d := crowdedDay(t).Data(Streams{}, nil)
	for range 8 {
		d.Halve()
		checkTotals(t, d)
	}
	if len(d.Heat.Rows) != 1 || d.Heat.Rows[0].Key != "user#hot" || len(d.Storms) != 1 {
		t.Errorf("%d storms, rows %+v; want one storm and the row of the hot key", len(d.Storms), d.Heat.Rows)
	}
}

// TestUnreadableWindows checks that windows which another release stored count as not read.
func TestUnreadableWindows(t *testing.T) {
	s := settings
	s.From, s.To = begin, begin.Add(time.Hour)
	r := FromWindows(s)
	for i := range 360 {
		w := heat.Window{Start: begin.Add(time.Duration(i) * 10 * time.Second)}
		if i < 180 {
			w.Unreadable = []error{heat.ErrVersion}
		} else {
			w.Items = []heat.Item{{Table: "orders", Start: w.Start, Window: 10 * time.Second, StreamShard: "s", Limit: 1000, HotRate: 700, Units: 9, Records: 9}}
		}
		r.Add(w)
	}
	none := FromWindows(s)
	none.Add(heat.Window{Start: begin, Unreadable: []error{heat.ErrVersion}})
	if d := none.Data(nil); !strings.Contains(d.Summary[0], "another release of hotshard stored the counts of 1 window.") {
		t.Errorf("summary without a readable window: %q", d.Summary)
	}
	if d := r.Data(nil); d.Read.Share != 0.5 || d.Heat.Covered[0] != 0 || !strings.Contains(d.Read.Note, "180 windows may lack records") {
		t.Errorf("read %+v, coverage %v; want half, and none of the first column", d.Read, d.Heat.Covered)
	}
}
