package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestDataOfASample: the matrix has the estimates, what was hot stands alone in it, and
// errors reach to the intervals' ends; a day of many keys stays below 2 MB.
func TestDataOfASample(t *testing.T) {
	r := day(t, func(stratum int, s *Slice) {
		for i := range 300 {
			s.Keys[fmt.Sprintf("user#%04d", (stratum*7+i)%10_000)] = Tally{Units: 2, Writes: 2}
		}
		if stratum == 100 {
			s.Keys["user#hot"] = Tally{Units: 900, Writes: 900}
		}
	})
	d := r.Data(Streams{Shards: []StreamShard{
		{ID: "a"}, {ID: "b", Parent: "a", First: begin.Add(2 * time.Hour)}, {ID: "c", Parent: "a", First: begin.Add(time.Hour)}, {ID: "d", Parent: "b"},
	}}, map[string]int{"GetRecords": 200_000, "DescribeStream": 1})
	total := uint64(0)
	for c := range d.Heat.Total {
		sum := d.Heat.Rest[c]
		for _, row := range d.Heat.Rows {
			sum += row.Units[c]
		}
		if sum != d.Heat.Total[c] {
			t.Fatalf("column %d: %d of %d", c, sum, d.Heat.Total[c])
		}
		if d.Heat.Covered[c] < 0.0199 || d.Heat.Covered[c] > 0.0201 {
			t.Fatalf("column %d: %v is covered", c, d.Heat.Covered[c])
		}
		total += sum
	}
	if want := uint64(50 * (1728*600 + 900)); total != want {
		t.Errorf("%d units in all, want %d", total, want)
	}
	found := false
	for _, row := range d.Heat.Rows {
		if row.Key != "user#hot" {
			continue
		}
		found = true
		if row.Keys != 1 || row.Status != heat.Hot && row.Status != heat.Saturated || row.Units[100/12] != 45_000 || row.Error[100/12] < 45_000 {
			t.Errorf("%+v", row)
		}
	}
	if !found || len(d.Heat.Rows) > 256 || len(d.Heat.Rows) < 200 {
		t.Errorf("%d rows, the hot one among them: %v", len(d.Heat.Rows), found)
	}
	if len(d.Splits) != 1 || d.Splits[0] != (Split{stamp(begin.Add(time.Hour)), "a", 2}) {
		t.Errorf("%+v", d.Splits)
	}
	if d.Read.Share < 0.0199 || d.Read.Share > 0.0201 || d.Read.Calls != 200_001 || d.Read.StreamShards != 4 || d.Cost.USD != 0.04 {
		t.Errorf("%+v, %+v", d.Read, d.Cost)
	}
	if len(d.Summary) != 2 || !strings.Contains(d.Summary[1], `"user#hot"`) || len(d.Todo) != 1 {
		t.Errorf("%q, %q", d.Summary, d.Todo)
	}
	text, err := json.Marshal(d)
	if err != nil || len(text) > 1_500_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	t.Logf("%d bytes", len(text))
}

// TestDataOfWindows: over all that was counted, a storm is what was hot in windows that
// follow each other, with the hottest one's certified rate.
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
		t.Fatalf("%+v", d.Storms)
	}
	first, second := d.Storms[0], d.Storms[1]
	if first.From != stamp(begin.Add(2000*time.Second)) || first.Rate != 770 || first.Low != 770 || first.High != 780 || first.Kind != OneKey {
		t.Errorf("%+v", first)
	}
	if second.From != stamp(begin.Add(100*time.Second)) || second.To != stamp(begin.Add(160*time.Second)) || second.Rate != 751.5 {
		t.Errorf("%+v", second)
	}
	if d.Read.Share != 1 || d.Read.Records != 360*9000 || d.Heat.Step.String() != "30s" || len(d.Heat.Total) != 120 || d.Heat.Total[0] != 27_000 {
		t.Errorf("%+v, step %s", d.Read, d.Heat.Step)
	}
}

// TestNothing: a report of an idle table says so.
func TestNothing(t *testing.T) {
	d := day(t, func(int, *Slice) {}).Data(Streams{}, nil)
	if len(d.Storms) != 0 || len(d.Summary) != 2 || !strings.HasPrefix(d.Summary[0], "No hot-key event found") || d.Heat.Rows == nil || d.Splits == nil || d.Todo == nil || d.Storms == nil {
		t.Errorf("%+v", d)
	}
}

// TestSpanOfASample: the summary names the oldest data only where the range begins there, not where
// whole strata shorten it, and "the stream" only where all of it was in the range.
func TestSpanOfASample(t *testing.T) {
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
			t.Errorf("%v, share %v, oldest %v: %s", c.wanted, c.share, c.oldest, text)
		}
	}
}

// TestHalve: what is left out for want of room is in the rest.
func TestHalve(t *testing.T) {
	r := day(t, func(stratum int, s *Slice) {
		for i := range 300 {
			s.Keys[fmt.Sprintf("user#%04d", (stratum*7+i)%10_000)] = Tally{Units: 2, Writes: 2}
		}
		if stratum == 100 {
			s.Keys["user#hot"] = Tally{Units: 900, Writes: 900}
		}
	})
	d := r.Data(Streams{}, nil)
	for range 8 {
		d.Halve()
		for c := range d.Heat.Total {
			sum := d.Heat.Rest[c]
			for _, row := range d.Heat.Rows {
				sum += row.Units[c]
			}
			if sum != d.Heat.Total[c] {
				t.Fatalf("%d rows, column %d: %d of %d", len(d.Heat.Rows), c, sum, d.Heat.Total[c])
			}
		}
	}
	if len(d.Heat.Rows) != 1 || d.Heat.Rows[0].Key != "user#hot" || len(d.Storms) != 1 {
		t.Errorf("%d rows, %d storms", len(d.Heat.Rows), len(d.Storms))
	}
}

// TestCountedTellsWhatIsUnread checks that windows of another release count as not read.
func TestCountedTellsWhatIsUnread(t *testing.T) {
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
		t.Errorf("%q", d.Summary)
	}
	if d := r.Data(nil); d.Read.Share != 0.5 || d.Heat.Covered[0] != 0 || !strings.Contains(d.Read.Note, "180 windows may lack records") {
		t.Errorf("%+v, covered %v", d.Read, d.Heat.Covered)
	}
}
