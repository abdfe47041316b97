package live

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOutages checks that reading continues after the last record, and that the operator is notified of long outages.
func TestOutages(t *testing.T) {
	for _, wrong := range passingFaults {
		for _, down := range []time.Duration{time.Second, 20 * time.Second, 50 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				s := f.open("")
				begun := time.Now()
				f.failIf(wrong, func(string) bool {
					since := time.Since(begun)
					return since > 12*time.Second && since < 12*time.Second+down
				})
				var notices []string
				r := f.reader(t, Options{Notify: func(sentence string) { notices = append(notices, sentence) }})
				seconds(80, func(int) { f.write(s, "key", 1) })
				time.Sleep(30 * time.Second)
				if got := counted(t, r)["key"]; got != 79 && got != 80 {
					t.Errorf("%v for %v: %d records are counted, want 79 or 80", wrong, down, got)
				}
				checkCovered(t, r)
				if lasted := down > 2*notifyAfter; lasted != (len(notices) == 2) || lasted && (!strings.HasPrefix(notices[0], "Disconnected since ") || !strings.HasPrefix(notices[1], "Reconnected after ")) {
					t.Errorf("%v for %v: notices %q", wrong, down, notices)
				}
				f.checkCalls(t)
			})
		}
	}
}

// checkCovered checks that windows have no gap.
func checkCovered(t *testing.T, r *Reader) {
	t.Helper()
	for w := range r.Windows(t.Context(), r.windows.countFrom, r.Settled(), Window) {
		if c := coverageOf(w); c != 1 {
			t.Errorf("%v: coverage %v, want 1", w.Start, c)
		}
	}
}

// TestFinalErrors checks the errors that end reading at once.
func TestFinalErrors(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"AccessDeniedException", "AccessDenied"},
		{"UnrecognizedClientException", "UnrecognizedClient"},
		{"ExpiredTokenException", "ExpiredToken"},
		{"ResourceNotFoundException", "the stream has ended: its table was deleted, it was disabled, or it was not read for a day. Run the command again"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{}
			f.open("")
			begun := time.Now()
			f.failIf(fault{400, c.code}, func(string) bool { return time.Since(begun) > 12*time.Second })
			err := New(Options{Streams: f.client(), Found: found()}).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || time.Since(begun) > 15*time.Second {
				t.Errorf("%s: Run returned %v after %v, want %s within 15s", c.code, err, time.Since(begun), c.want)
			}
		})
	}
}

// TestLongOutages checks outages in which records are lost: only their windows lack coverage, and all others are exact.
func TestLongOutages(t *testing.T) {
	for _, c := range []struct {
		name  string
		down  time.Duration
		after func(f *fake, s *fakeShard) *fakeShard // changes the stream during the outage
	}{
		{"too much to catch up", 10 * time.Minute, func(f *fake, s *fakeShard) *fakeShard {
			seconds(599, func(int) {
				for range 15 {
					f.write(s, "missed", 1)
				}
			})
			return s
		}},
		{"the parent ended", 40 * time.Minute, func(f *fake, s *fakeShard) *fakeShard {
			f.write(s, "read", 1)
			return f.end(s, 2)[0]
		}},
		{"the records expired", 20 * time.Minute, func(f *fake, s *fakeShard) *fakeShard {
			f.write(s, "missed", 1)
			f.write(s, "missed", 1)
			time.Sleep(17 * time.Minute)
			f.locked(func() { s.trimmed = len(s.records) })
			return s
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{pageLimit: 100}
				s := f.open("")
				down := false
				f.failIf(fault{0, reset}, func(string) bool { return down })
				r := f.reader(t, Options{})
				seconds(35, func(int) { f.write(s, "before", 1) })
				f.locked(func() { down = true })
				left := time.Now()
				s = c.after(f, s)
				time.Sleep(time.Until(left.Add(c.down)))
				f.locked(func() { down = false })
				time.Sleep(3 * time.Minute)
				back := time.Now()
				seconds(35, func(int) { f.write(s, "after", 1) })
				time.Sleep(30 * time.Second)
				got := counted(t, r)
				if got["before"] < 34 || got["before"] > 35 || got["after"] != 35 {
					t.Errorf("counted %v, want 35 before and 35 after", got)
				}
				for w := range r.Windows(t.Context(), back.Add(-50*time.Minute), r.Settled(), Window) {
					written, counted, coverage := f.writtenIn(w.Start), unitsOf(w), coverageOf(w)
					if counted > written || coverage == 1 && counted < written || !w.Start.Before(back) && coverage < 1 {
						t.Errorf("%v: %d of %d units are counted, with coverage %v", w.Start, counted, written, coverage)
					}
				}
			})
		})
	}
}

// writtenIn returns the units that were written in the window that starts at a time.
func (f *fake) writtenIn(start time.Time) (units uint64) {
	for _, s := range f.shards {
		for _, record := range s.records {
			if at := record.created; !at.Before(start) && at.Before(start.Add(Window)) {
				units += uint64(record.units)
			}
		}
	}
	return units
}
