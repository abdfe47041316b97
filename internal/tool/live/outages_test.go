package live

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOutages: after any failure but a throttle or an error of the caller's, reading goes on
// behind the last record, and the operator is notified if it lasted.
func TestOutages(t *testing.T) {
	for _, wrong := range passingFaults {
		for _, down := range []time.Duration{time.Second, 20 * time.Second, 50 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				s := f.open("")
				begun := time.Now()
				f.fail = func(o, _ string) *fault {
					if since := time.Since(begun); since > 12*time.Second && since < 12*time.Second+down {
						return &wrong
					}
					return nil
				}
				var told []string
				r, stop := f.reading(t, Options{Notify: func(sentence string) { told = append(told, sentence) }})
				seconds(80, func(int) { f.write(s, "key", 1) })
				time.Sleep(30 * time.Second)
				if got := counted(t, r)["key"]; got != 79 && got != 80 {
					t.Errorf("%v for %v: %d records of 80 are counted", wrong, down, got)
				}
				for w := range r.Windows(t.Context(), r.windows.begin, r.Settled(), Window) {
					if w.Items[0].Coverage != 0 {
						t.Errorf("%v for %v: %v has a coverage of %v", wrong, down, w.Start, w.Items[0].Coverage)
					}
				}
				if lasted := down > 2*silent; lasted != (len(told) == 2) || lasted && (!strings.HasPrefix(told[0], "Disconnected since ") || !strings.HasPrefix(told[1], "Reconnected after ")) {
					t.Errorf("%v for %v: told %q", wrong, down, told)
				}
				if err := stop(); !errors.Is(err, context.Canceled) {
					t.Errorf("%v for %v: %v", wrong, down, err)
				}
				f.checkCalls(t)
			})
		}
	}
}

// TestBusyOutage checks that a reader which comes closer after a short outage of a busy stream
// shard is given the time to catch up, instead of skipping what it missed.
func TestBusyOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		begun := time.Now()
		f.fail = func(string, string) *fault {
			if since := time.Since(begun); since > 12*time.Second && since < 20*time.Second {
				return &passingFaults[0]
			}
			return nil
		}
		r, stop := f.reading(t, Options{})
		seconds(60, func(int) {
			for range 700 {
				f.write(s, "key", 1)
			}
		})
		time.Sleep(30 * time.Second)
		if got := counted(t, r)["key"]; got < 59*700 {
			t.Errorf("%d records of %d are counted", got, 60*700)
		}
		for w := range r.Windows(t.Context(), r.windows.begin, r.Settled(), Window) {
			if c := w.Items[0].Coverage; c != 0 {
				t.Errorf("%v has a coverage of %v", w.Start, c)
			}
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestFinalErrors end the reading at once.
func TestFinalErrors(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"AccessDeniedException", "AccessDenied"},
		{"UnrecognizedClientException", "UnrecognizedClient"},
		{"ExpiredTokenException", "ExpiredToken"},
		{"ResourceNotFoundException", "ResourceNotFound"}, // without Find
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{}
			f.open("")
			begun := time.Now()
			f.fail = func(o, _ string) *fault {
				if time.Since(begun) > 12*time.Second {
					return &fault{400, c.code}
				}
				return nil
			}
			err := New(Options{Streams: f.client(), Found: found()}).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || time.Since(begun) > 15*time.Second {
				t.Errorf("%s: %v after %v", c.code, err, time.Since(begun))
			}
		})
	}
}

// TestLongOutages leave a gap with no coverage, and all else is exact: the reader was away for
// so long that it can't catch up, that the stream shard was replaced and gone, or that the
// records behind the last one are.
func TestLongOutages(t *testing.T) {
	for _, c := range []struct {
		name  string
		down  time.Duration
		after func(f *fake, s *fakeShard) *fakeShard // what happened meanwhile
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
		{"the records are gone", 20 * time.Minute, func(f *fake, s *fakeShard) *fakeShard {
			f.write(s, "missed", 1)
			f.write(s, "missed", 1)
			time.Sleep(17 * time.Minute)
			f.mu.Lock()
			defer f.mu.Unlock()
			s.trimmed = len(s.records)
			return s
		}},
		{"the stream shard is gone", 20 * time.Minute, func(f *fake, s *fakeShard) *fakeShard {
			f.write(s, "missed", 1)
			child := f.end(s, 1)[0]
			f.write(child, "missed", 1)
			time.Sleep(17 * time.Minute)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.gone, f.shards = f.shards[:1], f.shards[1:]
			return child
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{pageLimit: 100}
				s := f.open("")
				down := false
				f.fail = func(string, string) *fault {
					if down {
						return &fault{0, reset}
					}
					return nil
				}
				r, stop := f.reading(t, Options{Find: func(context.Context) (Found, error) { return found(), nil }})
				seconds(35, func(int) { f.write(s, "before", 1) })
				f.mu.Lock()
				down = true
				f.mu.Unlock()
				left := time.Now()
				s = c.after(f, s)
				time.Sleep(time.Until(left.Add(c.down)))
				f.mu.Lock()
				down = false
				f.mu.Unlock()
				time.Sleep(3 * time.Minute)
				back := time.Now()
				seconds(35, func(int) { f.write(s, "after", 1) })
				time.Sleep(30 * time.Second)
				got := counted(t, r)
				if got["before"] < 34 || got["before"] > 35 || got["after"] != 35 {
					t.Errorf("counted %v", got)
				}
				for w := range r.Windows(t.Context(), back.Add(-50*time.Minute), r.Settled(), Window) {
					coverage := w.Items[0].Coverage
					if coverage == 0 {
						coverage = 1
					}
					written, counted := f.writtenIn(w.Start), uint64(0)
					for _, it := range w.Items {
						counted += it.Units
					}
					if counted > written || coverage == 1 && counted < written || !w.Start.Before(back) && coverage < 1 {
						t.Errorf("%v: %d of %d are counted with a coverage of %v", w.Start, counted, written, coverage)
					}
				}
				if err := stop(); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		})
	}
}

// writtenIn returns the units of the window that starts at a time.
func (f *fake) writtenIn(start time.Time) (units uint64) {
	for _, s := range slices.Concat(f.shards, f.gone) {
		for _, record := range s.records {
			if at := record.created; !at.Before(start) && at.Before(start.Add(Window)) {
				units += uint64(record.units)
			}
		}
	}
	return units
}

// TestTheTableIsMadeAgain: its stream is gone for a while, and another one then. What was read
// stays, the time between has no coverage, and all else is exact.
func TestTheTableIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		gone := false
		f.fail = func(string, string) *fault {
			if gone {
				return &fault{400, "ResourceNotFoundException"}
			}
			return nil
		}
		var told []string
		o := Options{Notify: func(sentence string) { told = append(told, sentence) }}
		o.Find = func(context.Context) (Found, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if gone {
				return Found{}, noStreamError("orders")
			}
			again := found()
			again.Stream += "1"
			return again, nil
		}
		r, stop := f.reading(t, o)
		seconds(35, func(int) { f.write(s, "before", 1) })
		f.mu.Lock()
		gone = true
		f.mu.Unlock()
		left := time.Now()
		time.Sleep(47 * time.Second)
		f.mu.Lock()
		gone, f.shards = false, nil
		s = f.open("")
		f.mu.Unlock()
		time.Sleep(20 * time.Second)
		back := time.Now()
		seconds(35, func(int) { f.write(s, "after", 1) })
		time.Sleep(15 * time.Second)
		if got := counted(t, r); got["before"] < 33 || got["before"] > 35 || got["after"] != 35 {
			t.Errorf("counted %v", got)
		}
		lacking := 0.0
		for w := range r.Windows(t.Context(), r.windows.begin, r.Settled(), Window) {
			coverage := w.Items[0].Coverage
			if coverage == 0 {
				coverage = 1
			}
			lacking += 1 - coverage
			if inside := w.Start.Add(Window).After(left.Add(-time.Second)) && w.Start.Before(back); !inside && coverage < 1 {
				t.Errorf("%v: coverage %v", w.Start, coverage)
			}
		}
		if seconds := 10 * lacking; seconds < 47 || seconds > 47+15 {
			t.Errorf("%.1f s were not read, by the coverage", seconds)
		}
		if len(told) != 2 || !strings.Contains(told[0], `stream of table "orders" is gone`) || !strings.Contains(told[1], "has a new stream") {
			t.Errorf("told %q", told)
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestChildrenAfterAnOutage: a stream shard that ends just before the connection is lost for
// longer than children are asked for has its children found all the same.
func TestChildrenAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		down := false
		f.fail = func(operation, _ string) *fault {
			if down && operation == "DescribeStream" {
				return &fault{500, "InternalServerError"}
			}
			return nil
		}
		r, stop := f.reading(t, Options{})
		seconds(5, func(int) { f.write(s, "key", 1) })
		f.mu.Lock()
		down = true
		f.mu.Unlock()
		child := f.end(s, 1)[0]
		seconds(60, func(int) { f.write(child, "key", 1) })
		f.mu.Lock()
		down = false
		f.mu.Unlock()
		seconds(20, func(int) { f.write(child, "key", 1) })
		time.Sleep(time.Minute)
		if got := counted(t, r)["key"]; got != 84 && got != 85 {
			t.Errorf("counted %d of 85", got)
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
