package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
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
		if row.Keys != 1 || row.Status != "hot" && row.Status != "saturated" || row.Units[100/12] != 45_000 || row.Error[100/12] < 45_000 {
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
		r.Add([]heat.Item{it})
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
	if d.Read.Share != 1 || d.Read.Records != 360*9000 || d.Heat.Step != "30s" || len(d.Heat.Total) != 120 || d.Heat.Total[0] != 27_000 {
		t.Errorf("%+v, step %s", d.Read, d.Heat.Step)
	}
}

// TestNothing: a report of an idle table says so.
func TestNothing(t *testing.T) {
	d := day(t, func(int, *Slice) {}).Data(Streams{}, nil)
	if len(d.Storms) != 0 || len(d.Summary) != 2 || !strings.HasPrefix(d.Summary[0], "No storm was found") || d.Heat.Rows == nil || d.Splits == nil || d.Todo == nil || d.Storms == nil {
		t.Errorf("%+v", d)
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
