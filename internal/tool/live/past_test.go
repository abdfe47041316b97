package live

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/test/require"
)

// past reads the fake's stream from a time to now.
func (f *fake) past(t *testing.T, from time.Time, within time.Duration) *Past {
	t.Helper()
	source := found()
	source.Source.Indexes = f.indexes
	f.calls = nil
	last, began := 0, time.Now()
	p, err := ReadPast(t.Context(), PastOptions{
		Streams: f.client(), Found: source, From: from, To: time.Now(), Within: within, Seed: 1,
		Progress: func(passed, of int) {
			if passed <= last || passed > of {
				t.Errorf("progress is %d of %d after %d", passed, of, last)
			}
			last = passed
		},
	})
	require.NoError(t, err)
	if took := time.Since(began); took > within {
		t.Errorf("reading took %v, want at most %v", took, within)
	}
	f.checkCalls(t)
	return p
}

// checkWindows checks that each window has the counts of all its records, and returns their number.
func (f *fake) checkWindows(t *testing.T, p *Past) (n int) {
	t.Helper()
	for w, err := range p.Windows(t.Context(), p.From, p.To, time.Minute) {
		if n++; err != nil {
			t.Fatal(err)
		}
		units, keys := uint64(0), make(map[string]uint64)
		for _, s := range f.shards {
			some, by := truth(s, w.Start, w.Start.Add(Window))
			units += some
			for key, n := range by {
				keys[key] += n
			}
		}
		got := w.Items[0]
		if len(w.Items) != 1 || got.Units != units || got.IndexUnits["by_place"] != units*uint64(len(f.indexes)) || got.Window != Window || got.Limit != 1000 {
			t.Fatalf("window %v: %+v, want %d units in the table and in the index", w.Start, w.Items, units)
		}
		for _, k := range got.Keys {
			if k.Index == "" && k.Units != keys[k.Key] {
				t.Fatalf("window %v: %d units of %s, want %d", w.Start, k.Units, k.Key, keys[k.Key])
			}
		}
	}
	if read, of := p.CountWindows(); read != n || of != int(p.To.Sub(p.From)/Window) {
		t.Errorf("CountWindows returned %d of %d, want %d of %v", read, of, n, p.To.Sub(p.From))
	}
	return n
}

// TestPastHasWhatWasWritten checks the windows of random traffic with splits and empty pages: all of them if there is
// time, else some, each with all of its records.
func TestPastHasWhatWasWritten(t *testing.T) {
	seed := require.Seed(t)
	for round := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, round))
			f := &fake{pageLimit: 20 + random.IntN(400), emptyPages: []int{0, 7}[round%2], noneAtEnd: round%3 == 0}
			f.attributes = `,"country":{"S":"de"},"city":{"S":"bonn"}`
			f.indexes = []ddbstream.Index{ddbstream.NewIndex("by_place", []string{"country", "city"}, nil, []string{"pk", "sk"}, nil)}
			f.open("")
			f.open("")
			begin, rate := time.Now(), 1
			seconds(600, func(second int) {
				if second%60 == 0 {
					rate = []int{0, 1, 5, 40}[random.IntN(4)]
				}
				if second == 200 {
					f.end(f.shards[0], 2)
				}
				for _, s := range f.shards {
					for range random.IntN(rate + 1) {
						f.writeOpen(s, fmt.Sprint("k", random.IntN(5)), 1+random.IntN(2))
					}
				}
			})
			time.Sleep(2 * time.Second)
			all := f.past(t, begin, 30*time.Minute)
			if read, of := all.CountWindows(); f.checkWindows(t, all) != of || !strings.HasPrefix(all.Coverage(), "Every record from 2000-01-01 00:00:00 ") {
				t.Errorf("read %d windows of %d: %s", read, of, all.Coverage())
			}
			f.checkWindows(t, f.past(t, begin, 20*time.Second))
		})
	}
}

// TestPastOfBusyStream checks that a stream which takes too long is read in time, in windows over all of it, and to its
// end.
func TestPastOfBusyStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		begin := time.Now()
		seconds(3600, func(second int) {
			for i := range 100 + second%50 {
				f.write(s, fmt.Sprint(i%10), 1)
			}
		})
		p := f.past(t, begin, 2*time.Minute)
		n := f.checkWindows(t, p)
		last, widest := p.From, time.Duration(0)
		for w := range p.Windows(t.Context(), p.From, p.To, Window) {
			widest, last = max(widest, w.Start.Sub(last)), w.Start
		}
		if n < 40 || n > 120 || widest > 4*time.Minute || p.To.Sub(last) != Window {
			t.Errorf("%d windows, at most %v apart, the last at %v; want some 60 over the hour and the last one", n, widest, last)
		}
		want := fmt.Sprintf("%.1f%% of the stream from 2000-01-01 00:00:00 to 2000-01-01 01:00:00 UTC was read: %d of its 360 windows of 10s.", float64(n)/3.6, n)
		if !strings.HasPrefix(p.Coverage(), want) {
			t.Errorf("coverage %q, want %q", p.Coverage(), want)
		}
	})
}

// TestPastWithoutTimes checks that a stream without AT_TIMESTAMP is read as far as time allows, and that a throttle is
// an error.
func TestPastWithoutTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{noTimes: true, pageLimit: 100}
		s := f.open("")
		begin := time.Now()
		seconds(300, func(int) {
			for range 10 {
				f.write(s, "a", 1)
			}
		})
		if n := f.checkWindows(t, f.past(t, begin.Add(time.Minute), time.Hour)); n != 24 {
			t.Errorf("%d windows, want 24", n)
		}
		if n := f.checkWindows(t, f.past(t, begin, 10*time.Second)); n < 8 || n > 11 {
			t.Errorf("%d windows in 10 s, want some 10 of 100 records", n)
		}
		f.failIf(fault{400, "LimitExceededException"}, func(operation string) bool { return operation == "GetRecords" })
		f.calls = nil
		_, err := ReadPast(t.Context(), PastOptions{Streams: f.client(), Found: found(), From: begin, To: time.Now(), Within: time.Minute})
		if err == nil || !strings.Contains(err.Error(), "other readers need their share") || f.made("GetRecords") != 1 {
			t.Errorf("error %v after %d polls, want a throttle after one", err, f.made("GetRecords"))
		}
	})
}

// TestPastNeedsTime checks that a time in which no window could be read, of an idle stream or of one that can't be reached,
// is an error instead of a past without writes.
func TestPastNeedsTime(t *testing.T) {
	for name, failing := range map[string]bool{"idle": false, "unreachable": true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{}
			f.open("")
			f.failIf(fault{503, "ServiceUnavailable"}, func(string) bool { return failing })
			time.Sleep(time.Hour)
			o := PastOptions{Streams: f.client(), Found: found(), From: time.Now().Add(-time.Hour), To: time.Now(), Within: 5 * time.Second}
			if _, err := ReadPast(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no window of the stream was read within 5s") {
				t.Errorf("%s: error %v", name, err)
			}
		})
	}
}

// TestPastOfAWholeDay checks a quiet day: windows that expire before they are read count as not read. A stream that was
// enabled later begins then.
func TestPastOfAWholeDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		for range 26 * 60 {
			time.Sleep(time.Minute)
			f.write(s, "a", 1)
		}
		s.trimmed = 2 * 60
		p := f.past(t, time.Now().Add(-24*time.Hour), 10*time.Minute)
		if read, of := p.CountWindows(); f.checkWindows(t, p) != read || read > of-6 || read < of-12 {
			t.Errorf("read %d windows of %d, want all but the oldest minute's", read, of)
		}
		source := found()
		source.Stream = strings.Replace(fakeARN, "2026-01-05T13:00:00.000", time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04:05.000"), 1)
		p, err := ReadPast(t.Context(), PastOptions{Streams: f.client(), Found: source, From: time.Now().Add(-24 * time.Hour), To: time.Now(), Within: time.Minute})
		require.NoError(t, err)
		if read, of := p.CountWindows(); read != 360 || of != 360 || !strings.Contains(p.Coverage(), "it was enabled then") {
			t.Errorf("read %d windows of %d, want an hour: %s", read, of, p.Coverage())
		}
	})
}
