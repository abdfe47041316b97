package live

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestStopsAtFirstThrottle checks that a throttle of any operation ends reading.
func TestStopsAtFirstThrottle(t *testing.T) {
	for _, operation := range []string{"DescribeStream", "GetShardIterator", "GetRecords"} {
		for _, code := range []string{"LimitExceededException", "ThrottlingException"} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				for range 5 {
					f.open("")
				}
				f.failIf(fault{400, code}, func(o string) bool { return o == operation })
				err := New(Options{Streams: f.client(), Found: found()}).Run(t.Context())
				if want := "DynamoDB throttles the readers of this stream (" + code + "), so reading stops"; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s: Run returned %v, want %q", operation, code, err, want)
				}
				if n := f.made(operation); n > 5 { // one in flight for each stream shard
					t.Errorf("%s, %s: %d calls, want at most 5", operation, code, n)
				}
				synctest.Wait()
			})
		}
	}
}

// TestFallsBehind checks a stream shard with more records than a poll a second returns. Its windows state the share that
// was read, and the units of its keys are lower bounds.
func TestFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{pageLimit: 100}
		for range 4 {
			f.open("")
		}
		r := f.reader(t, Options{})
		begun := time.Now()
		seconds(60, func(int) {
			for range 200 {
				f.write(f.shards[0], "much", 1)
			}
			f.write(f.shards[1], "little", 1)
		})
		time.Sleep(15 * time.Second)
		var sampled int
		for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
			coverage, units := coverageOf(w), unitsOfKey(w, "much")
			if units > 2000 {
				t.Errorf("%v: %d units are counted, want at most 2,000", w.Start, units)
			}
			if w.Start.After(begun) && w.Start.Add(Window).Before(begun.Add(time.Minute)) {
				if coverage < 0.75 || coverage > 1 {
					t.Errorf("%v: coverage %.3f, want 0.75 or more: three of four stream shards were read completely", w.Start, coverage)
				}
				if coverage < 1 {
					sampled++
				}
				// The coverage must not exceed the share of the busy stream shard that was read.
				if share := 1 - 4*(1-coverage); float64(units) < 2000*share-201 {
					t.Errorf("%v: %d units of 2,000 were read, but the coverage implies a share of %.2f", w.Start, units, share)
				}
			}
		}
		if sampled == 0 {
			t.Error("no window has a coverage below 1")
		}
		if got := counted(t, r)["little"]; got < 59 {
			t.Errorf("%d records of another stream shard are counted, want 59 or 60", got)
		}
		f.checkCalls(t)
	})
}

// unitsOfKey returns the units of a key in a window.
func unitsOfKey(w heat.Window, key string) (units uint64) {
	for _, it := range w.Items {
		for _, k := range it.Keys {
			if k.Key == key {
				units += k.Units
			}
		}
	}
	return units
}

// TestWrongClock checks that records are counted in the service's windows although the machine's clock is wrong or calls
// are slow, and that a complete window doesn't change: top prints it once.
func TestWrongClock(t *testing.T) {
	for _, c := range []struct{ ahead, before, after time.Duration }{
		{-time.Hour, 0, 0}, {-6500 * time.Millisecond, 0, 0}, {-time.Second, 0, 0}, {300 * time.Millisecond, 0, 0}, {1600 * time.Millisecond, 0, 0},
		{3200 * time.Millisecond, 0, 0}, {6 * time.Second, 0, 0}, {time.Hour, 0, 0}, {0, 3 * time.Second, 0}, {0, 0, 3 * time.Second},
		{1600 * time.Millisecond, 2 * time.Second, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{ahead: c.ahead, before: c.before, after: c.after}
			s := f.open("")
			time.Sleep(630 * time.Millisecond)
			r := f.reader(t, Options{})
			shown := make(map[time.Time]uint64) // units when a window was first complete
			for range 900 {
				time.Sleep(100 * time.Millisecond)
				passed := f.now().Sub(f.now().Truncate(Window))
				if passed < 4*time.Second || passed >= Window-100*time.Millisecond { // the window's last record follows empty pages
					f.write(s, "key", 1)
				}
				for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
					if _, ok := shown[w.Start]; !ok {
						shown[w.Start] = unitsOf(w)
					}
				}
			}
			time.Sleep(20 * time.Second)
			if len(shown) < 7 {
				t.Errorf("%+v: %d windows were complete, want 7 or more", c, len(shown))
			}
			for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
				if first, ok := shown[w.Start]; ok && first != unitsOf(w) {
					t.Errorf("%+v, %v: %d units when the window was complete, and %d later", c, w.Start, first, unitsOf(w))
				}
			}
			checkCovered(t, r)
			if wanted, got := f.written(r.windows.countFrom)["key"], counted(t, r)["key"]; got != wanted || got < 300 {
				t.Errorf("%+v: counted %d, want %d", c, got, wanted)
			}
		})
	}
}

// TestJumpToEndOfClosedShard checks a stream shard that closes while the reader skips ahead: the skipped records have no
// coverage, and the child is read completely.
func TestJumpToEndOfClosedShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{pageLimit: 100, noneAtEnd: true}
		s := f.open("")
		var child *fakeShard
		iterators := 0
		f.fail = func(operation, shard string) *fault {
			if operation == "GetShardIterator" && shard == s.id {
				if iterators++; iterators == 2 { // the jump's
					s.closed = true
					child = f.open(s.id)
				}
			}
			return nil
		}
		r := f.reader(t, Options{})
		// The jump may close the stream shard between two writes of a second.
		for open := true; open; time.Sleep(time.Second) {
			for range 200 {
				open = f.writeOpen(s, "much", 1)
			}
		}
		seconds(30, func(int) { f.write(child, "little", 1) })
		time.Sleep(15 * time.Second)
		if got := counted(t, r)["little"]; got != 30 {
			t.Errorf("%d records of the child are counted, want 30", got)
		}
		lacking := 0
		for w := range r.Windows(t.Context(), r.windows.countFrom, r.Settled(), Window) {
			units := unitsOf(w)
			if written := f.writtenIn(w.Start); units < written {
				lacking++
				if c := coverageOf(w); c > 0.95 {
					t.Errorf("%v: %d units of %d are counted, but the coverage is %v", w.Start, units, written, c)
				}
			}
		}
		if lacking == 0 {
			t.Error("the reader skipped nothing")
		}
		if iterators != 1+3 {
			t.Errorf("%d calls of GetShardIterator, want 4", iterators)
		}
	})
}
