package live

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/test/require"
)

// seconds calls fn at the start of each of n seconds.
func seconds(n int, fn func(second int)) {
	for i := range n {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)) + time.Millisecond)
		fn(i)
	}
}

// TestEveryRecordOnce checks that each record since the start is counted once, with random splits and faults.
func TestEveryRecordOnce(t *testing.T) {
	first := require.Seed(t)
	for seed := first; seed < first+uint64(require.Runs(12, 500)); seed++ {
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
	for range 1 + dice.IntN(8) {
		f.open("")
	}
	failures := []float64{0, 0, 0.1}[dice.IntN(3)]
	luck := rand.New(rand.NewPCG(dice.Uint64(), 0)) // used under the fake's lock
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
	seconds(dice.IntN(30), act)
	r := f.reader(t, Options{})
	begin := time.Time{}
	for waited := time.Duration(0); begin.IsZero() && waited < time.Minute; waited += 100 * time.Millisecond {
		time.Sleep(100 * time.Millisecond)
		r.windows.mu.Lock()
		begin = r.windows.countFrom
		r.windows.mu.Unlock()
	}
	if begin.IsZero() {
		t.Fatal("reading did not begin within a minute")
	}
	seconds(5+dice.IntN(90), act)
	time.Sleep(2 * time.Minute)
	got, wanted := counted(t, r), f.written(begin)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("-written +counted:\n%s", diff)
	}
	for w := range r.Windows(t.Context(), time.Time{}, time.Now(), Window) {
		want := 1 - max(0, begin.Sub(w.Start).Seconds())/Window.Seconds()
		if c := w.Items[0].Coverage; c == 0 && want < 1 || c > 0 && math.Abs(c-want) > 1e-6 {
			t.Errorf("%v: coverage %v, want %v", w.Start, c, want)
		}
	}
	f.checkCalls(t)
}

// written returns the units of each key since a time.
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

// firstWindow returns the first window that has ended.
func firstWindow(t *testing.T, r *Reader) heat.Window {
	t.Helper()
	for w, err := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
		require.NoError(t, err)
		return w
	}
	t.Fatal("no window has ended")
	return heat.Window{}
}

// TestFirstWindowIsComplete checks, at each second of the clock, a key just over the threshold. With AtOnce it is hot
// in the first window.
func TestFirstWindowIsComplete(t *testing.T) {
	for after := range 10 {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(after) * time.Second)
			f := &fake{}
			s := f.open("")
			r := f.reader(t, Options{PartitionWCU: 200, AtOnce: true})
			seconds(16, func(int) {
				for range 147 {
					f.write(s, "hot", 1)
				}
			})
			first := firstWindow(t, r)
			row := heat.Merge(first.Items)[0]
			if row.Status != heat.Hot || row.WriteUnitsPerSecond != 147 || first.Items[0].Coverage != 0 {
				t.Errorf("start at second %d: %+v, coverage %v; want hot, 147 WCU/s and no gap", after, row, first.Items[0].Coverage)
			}
		})
	}
}
