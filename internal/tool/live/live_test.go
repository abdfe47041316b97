package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// seconds lets time pass, and calls fn at the begin of each second.
func seconds(n int, fn func(second int)) {
	for i := range n {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)) + time.Millisecond)
		fn(i)
	}
}

// TestDetection: with 64 stream shards a key at 1.05 times the threshold is hot in each window,
// and one at 0.95 times in none.
func TestDetection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const streamShards, limit = 64, 200 // so 140 units a second are hot
		f := &fake{}
		for range streamShards {
			f.open("")
		}
		r, stop := f.reading(t, Options{PartitionWCU: limit})
		seconds(45, func(second int) {
			for i, s := range f.shards {
				write := func(key string, units int) {
					for range units {
						f.write(s, key, 1)
					}
				}
				switch i % 4 {
				case 0:
					write(fmt.Sprintf("hot-%d", i), 147)
				case 1:
					write(fmt.Sprintf("warm-%d", i), 133)
				}
				for n := range 20 {
					write(fmt.Sprintf("cold-%d-%d", i, (second*7+n)%100), 1)
				}
			}
		})
		time.Sleep(5 * time.Second)
		var full int
		for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
			rows := heat.Merge(w.Items)
			if w.Items[0].Coverage != 0 || rows[0].WriteUnitsPerSecond < 100 { // before the writers, or after
				continue
			}
			if last := rows[len(rows)-1]; last.WriteUnitsPerSecond*Window.Seconds() < 1 {
				t.Errorf("%v: a key without units: %+v", w.Start, last)
			}
			var hot int
			for _, row := range rows {
				if row.Status >= heat.Hot {
					hot++
					if !strings.HasPrefix(row.Key, "hot-") {
						t.Errorf("%v: %s is %v at %.1f units/s", w.Start, row.Key, row.Status, row.WriteUnitsPerSecond)
					}
				}
			}
			if full++; hot != streamShards/4 {
				t.Errorf("%v: %d keys of %d are hot", w.Start, hot, streamShards/4)
			}
		}
		if full < 3 {
			t.Errorf("%d whole windows", full)
		}
		f.checkCalls(t)
		if err := stop(); err == nil {
			t.Error("Run ended without a reason")
		}
	})
}

// TestEveryRecordOnce: whatever a stream's stream shards do, and however its service answers,
// each record from the begin on is counted once.
func TestEveryRecordOnce(t *testing.T) {
	for range lane.Runs(12, 500) {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { everyRecordOnce(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func everyRecordOnce(t *testing.T, dice *rand.Rand) {
	f := &fake{
		noTimes: dice.IntN(2) == 0, listDelay: time.Duration(dice.IntN(2)) * 3 * time.Second,
		pageLimit: []int{0, 40}[dice.IntN(2)], emptyPages: []int{0, 4}[dice.IntN(2)],
	}
	from := []string{"now", "horizon", "then"}[dice.IntN(3)]
	for range 1 + dice.IntN(8) {
		f.open("")
	}
	failures := []float64{0, 0, 0.1}[dice.IntN(3)]
	luck := rand.New(rand.NewPCG(dice.Uint64(), 0)) // of the stand-in, which has other callers
	f.fail = func(string, string) *fault {
		if luck.Float64() < failures {
			return &passingFaults[luck.IntN(len(passingFaults))]
		}
		return nil
	}
	open := func() *fakeShard {
		for {
			if s := f.shards[dice.IntN(len(f.shards))]; !s.closed {
				return s
			}
		}
	}
	act := func(int) {
		for range dice.IntN(12) {
			f.write(open(), fmt.Sprint("key-", dice.IntN(30)), 1+dice.IntN(3))
		}
		if dice.IntN(3) == 0 && len(f.shards) < 60 {
			f.end(open(), 1+dice.IntN(2))
		}
	}
	start := time.Now()
	seconds(dice.IntN(30), act)
	o := Options{}
	switch from {
	case "horizon":
		o.Since = start.Add(-time.Minute)
	case "then":
		o.Since = start.Add(10 * time.Second)
	}
	r, stop := f.reading(t, o)
	begin := time.Time{}
	for waited := time.Duration(0); begin.IsZero() && waited < time.Minute; waited += 100 * time.Millisecond {
		time.Sleep(100 * time.Millisecond)
		r.windows.mu.Lock()
		begin = r.windows.begin
		r.windows.mu.Unlock()
	}
	if begin.IsZero() {
		t.Fatal("it did not begin")
	}
	seconds(5+dice.IntN(90), act)
	time.Sleep(2 * time.Minute)
	got, wanted := counted(t, r), f.written(begin)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("from %s (-written +counted):\n%s", from, diff)
	}
	for w := range r.Windows(t.Context(), time.Time{}, time.Now(), Window) {
		want := 1 - max(0, begin.Sub(w.Start).Seconds())/Window.Seconds()
		if c := w.Items[0].Coverage; c == 0 && want < 1 || c > 0 && math.Abs(c-want) > 1e-6 {
			t.Errorf("%v: coverage %v, want %v", w.Start, c, want)
		}
	}
	f.checkCalls(t)
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run ended: %v", err)
	}
}

// written adds up the units of each key from a time on.
func (f *fake) written(from time.Time) map[string]uint64 {
	units := make(map[string]uint64)
	for _, s := range f.shards {
		for _, record := range s.records {
			if !record.created.Truncate(time.Second).Before(from) {
				units[record.key] += uint64(record.units)
			}
		}
	}
	return units
}

// TestTheFirstWindowIsWhole: with AtOnce a key just over the threshold is hot in the first
// window already, whatever the time of day.
func TestTheFirstWindowIsWhole(t *testing.T) {
	for after := range 10 {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(after) * time.Second)
			f := &fake{}
			s := f.open("")
			r, stop := f.reading(t, Options{PartitionWCU: 200, AtOnce: true})
			seconds(16, func(int) {
				for range 147 {
					f.write(s, "hot", 1)
				}
			})
			var first *heat.Window
			for w, err := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = &w
				}
			}
			if first == nil {
				t.Fatalf("after %d s: no window is over after 16 s", after)
			}
			row := heat.Merge(first.Items)[0]
			if row.Status != heat.Hot || row.WriteUnitsPerSecond != 147 || first.Items[0].Coverage != 0 {
				t.Errorf("after %d s: %+v, coverage %v", after, row, first.Items[0].Coverage)
			}
			if err := stop(); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// TestHotInAnIndexOnly checks that a key is named in the first window if it is hot only in an index with three partition
// attributes, whose writes are of many partition keys of the table.
func TestHotInAnIndexOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{
			attributes: `,"country":{"S":"de"},"city":{"S":"berlin"},"status":{"N":"1"}`,
			indexes:    []secondary.Index{secondary.New("by_place", []string{"country", "city", "status"}, []string{"sk"}, []string{"pk", "sk"}, nil)},
		}
		s, n := f.open(""), 0
		r, stop := f.reading(t, Options{PartitionWCU: 200, AtOnce: true})
		seconds(16, func(int) {
			for range 147 {
				n++
				f.write(s, fmt.Sprint("order-", n), 1)
			}
		})
		var hot []string
		for w, err := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range heat.Merge(w.Items) {
				if row.Status > heat.Warm {
					hot = append(hot, fmt.Sprintf("%s %s %.0f", row.Index, row.Key, row.WriteUnitsPerSecond))
				}
			}
			break // the first
		}
		if diff := cmp.Diff([]string{"by_place de|berlin|1 147"}, hot); diff != "" {
			t.Errorf("hot keys (-want +got):\n%s", diff)
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// alike returns a vector index of keys only.
func alike(dimensions int, partition ...string) ddbstream.VectorIndex {
	x := ddbstream.VectorIndex{Index: secondary.New("alike", partition, nil, []string{"pk", "sk"}, []string{"embedding"}), Vector: ddbstream.Vector{Attribute: "embedding", Dimensions: dimensions}}
	x.InBytes = true
	return x
}

// TestVectorIndex checks that bytes of a vector index are counted by key over all stream shards, in windows and minutes,
// and that they are no write units.
func TestVectorIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{attributes: `,"place":{"S":"de"},"embedding":{"L":[{"N":"0.5"}]}`, vectors: []ddbstream.VectorIndex{alike(256, "place")}}
		shards := []*fakeShard{f.open(""), f.open("")}
		r, stop := f.reading(t, Options{PartitionWCU: 200})
		seconds(150, func(int) {
			for range 10 {
				f.write(shards[0], "a", 1)
				f.write(shards[1], "b", 1)
			}
		})
		entry := 4*256 + len("pk"+"a"+"sk") + len(shards[0].records[0].sequence) + len("place"+"de") + len("embedding")
		want := []heat.VectorRate{{Index: "alike", Bytes: float64(20 * entry), Keys: []heat.VectorKey{{Key: "de", Bytes: float64(20 * entry)}}}}
		for _, step := range []time.Duration{Window, time.Minute} {
			whole := 0
			for w, err := range r.Windows(t.Context(), time.Time{}, r.Settled(), step) {
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range heat.Merge(w.Items) {
					if row.Index != "" || row.WriteUnitsPerSecond > 20 || row.Status > heat.Warm {
						t.Errorf("%v: bytes are write units: %+v", w.Start, row)
					}
				}
				if got := heat.VectorRates(w.Items); cmp.Equal(want, got) {
					whole++
				} else if w.Start.Add(step).Before(r.Settled()) && whole > 0 {
					t.Errorf("%v of %v (-want +got):\n%s", w.Start, step, cmp.Diff(want, got))
				}
			}
			if whole < 1 {
				t.Errorf("no whole window of %v", step)
			}
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
