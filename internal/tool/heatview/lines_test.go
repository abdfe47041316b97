package heatview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestLines checks the printed lines, as JSON and as text, with filters and pseudonyms.
func TestLines(t *testing.T) {
	w := windowOf(enginetest.Later, map[string]uint64{"user#7": 7512, "other": 10, "by_city/Rome": 300})
	w.Items[0].Coverage = 0.937
	line := func(o Options, w heat.Window) string {
		var out bytes.Buffer
		p := &printer{out: &out, collector: o.collector(&Watched{})}
		p.addWindow(w)
		seen, err := p.sum(t.Context(), w.Start)
		if err == nil {
			err = p.write(w, seen)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, c := range []struct {
		options Options
		want    []LineKey
	}{
		{Options{Table: "orders", JSON: true}, []LineKey{
			{Key: "user#7", Status: "hot", Worst: "hot", Rate: 751.2, Share: 0.7512, Peak: 751}, {Key: "Rome", Index: "by_city", Status: "warm", Worst: "warm", Rate: 30, Share: 0.03, Peak: 30},
			{Key: "other", Status: "warm", Worst: "warm", Rate: 1, Share: 0.001, Peak: 1},
		}},
		{Options{Table: "orders", JSON: true, Index: "by_city"}, []LineKey{{Key: "Rome", Index: "by_city", Status: "warm", Worst: "warm", Rate: 30, Share: 0.03, Peak: 30}}},
		{Options{Table: "orders", JSON: true, Prefix: "use", Hash: true}, []LineKey{{Key: keyname.Pseudonym("user#7"), Status: "hot", Worst: "hot", Rate: 751.2, Share: 0.7512, Peak: 751}}},
	} {
		text := line(c.options, w)
		var got Line
		if err := json.Unmarshal([]byte(text), &got); err != nil || strings.Count(text, "\n") != 1 {
			t.Fatalf("%v in %s", err, text)
		}
		for i := range got.Keys {
			if got.Keys[i].Advice == "" {
				t.Errorf("no advice for %s", got.Keys[i].Key)
			}
			got.Keys[i].Advice = ""
		}
		want := Line{Start: "2126-01-15T12:00:00.000Z", Window: "10s", Coverage: 0.93, Keys: c.want}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.options, diff)
		}
	}
	text := line(Options{}, windowOf(enginetest.Later, map[string]uint64{hostile: 10, "user#7": 8000}))
	for _, want := range []string{`esc\x1b[31m\u202e<img`, "801 WCU/s, 1 hot of 2 keys", "hot", "800.0 WCU/s", "80%"} {
		if !strings.Contains(text, want) || strings.Contains(text, "\x1b") || strings.Count(text, "\n") != 5 {
			t.Errorf("the text lacks %q, or has not 5 lines, or an escape:\n%s", want, text)
		}
	}
}

// TestFallingRateHasAdvice checks that JSON has advice for a normal key whose rate falls.
func TestFallingRateHasAdvice(t *testing.T) {
	o := Options{JSON: true}
	l := o.collector(&Watched{})
	for i, units := range []uint64{500, 400} {
		w := windowOf(enginetest.Later.Add(time.Duration(i)*live.Window), map[string]uint64{"falling": units})
		l.addWindow(w)
		seen, err := l.sum(t.Context(), enginetest.Later)
		if err != nil {
			t.Fatal(err)
		}
		if line := o.line(w, seen); len(line.Keys) != 1 || line.Keys[0].Advice == "" || line.Keys[0].Worst != "warm" {
			t.Errorf("window %d: keys %+v, want one warm key with advice", i, line.Keys)
		}
	}
}

// TestAdviceIsOfTheCurrentWindows checks that the advice names the heaviest second of the current windows, and not an
// earlier one under another shard count.
func TestAdviceIsOfTheCurrentWindows(t *testing.T) {
	l := (&Options{JSON: true}).collector(&Watched{Shards: counts(17)})
	var seen snapshot
	for i, peak := range []uint64{200, 25, 24} {
		start := enginetest.Later.Add(time.Duration(i) * live.Window)
		item := heat.Item{Start: start, Window: live.Window, Limit: 20, HotRate: 14, Keys: []heat.Key{{Key: "C#a#0", Units: 30, Peak: peak, PeakAt: start}}}
		l.addWindow(heat.Window{Start: start, Items: []heat.Item{item}})
		var err error
		if seen, err = l.sum(t.Context(), start); err != nil {
			t.Fatal(err)
		}
	}
	if k := seen.keys[0]; k.peak != 200 || !strings.HasPrefix(k.advice, "Its heaviest second took 25 WCU,") {
		t.Errorf("%+v: want a peak of 200, and advice on 25", k)
	}
}

// TestCooledKeys checks that a hot key is shown as cooled, with its peak, after two cool windows.
func TestCooledKeys(t *testing.T) {
	o := Options{}
	l := o.collector(&Watched{})
	for i, units := range []uint64{8000, 9000, 100, 0, 0} {
		rates := map[string]uint64{"busy": 10}
		if units > 0 {
			rates["storm"] = units
		}
		l.addWindow(windowOf(enginetest.Later.Add(time.Duration(i)*live.Window), rates))
		s, err := l.sum(t.Context(), enginetest.Later)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(s.keys, byStatus)
		k := s.keys[0]
		if want := []string{"hot", "hot", "hot", "cooled", "cooled"}[i]; k.id.key != "storm" || k.statusText() != want || k.peak != max(800, min(units/10, 900), uint64(min(i, 1))*900) {
			t.Errorf("window %d: %s is %s with a peak of %d, want storm as %s", i, k.id.key, k.statusText(), k.peak, want)
		}
		if i >= 3 && (!k.CooledAt().Equal(enginetest.Later.Add(2*live.Window)) || k.Current != 0) {
			t.Errorf("window %d: cooled at %v, %v WCU/s now; want the third window and 0", i, k.CooledAt(), k.Current)
		}
	}
}

// fullDisk is a writer that fails.
type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// TestFullDisk checks that printing ends if its output can't be written, even if all errors of the source are transient.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []Options{{JSON: true}, {}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			w := &Watched{Source: given(busy()), Settled: func() time.Time { return enginetest.Later.Add(time.Hour) }, Transient: func(error) bool { return true }}
			if err := Print(ctx, fullDisk{}, w, o); !errors.Is(err, errFull) {
				t.Errorf("%+v: error %v, want %v", o, err, errFull)
			}
		}
	})
}

// flaky is a shard map whose lookups fail while err is set.
type flaky struct {
	counts
	err      error
	failures int // lookups that failed
	most     int // failures after which lookups succeed; 0 for no bound
}

func (f *flaky) Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error) {
	if f.err != nil && (f.most == 0 || f.failures < f.most) {
		f.failures++
		return shardmap.Entry{}, f.err
	}
	return f.counts.Lookup(ctx, key, now)
}

// sharded returns n windows of a base key with write shards.
func sharded(n int) (list []heat.Window) {
	for i := range n {
		w := windowOf(enginetest.Later.Add(time.Duration(i)*live.Window), map[string]uint64{"C#page#0": uint64(1000 * (i + 1))})
		w.Items[0].Table = ""
		list = append(list, w)
	}
	return list
}

// TestFailedLookupLosesNoLine checks that each window is printed once although lookups in the shard map fail.
func TestFailedLookupLosesNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		shards := &flaky{counts: 1, err: errors.New("connection reset"), most: 2}
		w := &Watched{Source: given(sharded(3)), Settled: func() time.Time { return enginetest.Later.Add(time.Hour) }, Shards: shards, Transient: func(error) bool { return true }}
		var out bytes.Buffer
		if err := Print(ctx, &out, w, Options{JSON: true}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 || shards.failures != 2 {
			t.Fatalf("%d lines after %d failures, want 3 after 2:\n%s", len(lines), shards.failures, out.String())
		}
		for i, line := range lines {
			if want := fmt.Sprintf(`"write_units_per_second":%d,`, 100*(i+1)); !strings.Contains(line, want) {
				t.Errorf("line %d lacks %s: %s", i, want, line)
			}
		}
	})
}

// TestFailedLookupKeepsSnapshot checks that a failed lookup leaves the snapshot unchanged. The next snapshot has the
// windows of the failed one.
func TestFailedLookupKeepsSnapshot(t *testing.T) {
	list, over := sharded(2), enginetest.Later.Add(live.Window)
	shards := &flaky{counts: 1}
	o := Options{}
	l := o.collector(&Watched{Source: given(list), Settled: func() time.Time { return over }, Shards: shards})
	check := func(what string, rate float64, fails bool) {
		t.Helper()
		seen, err := l.refresh(t.Context(), over)
		if (err != nil) != fails || len(seen.keys) != 1 || seen.keys[0].Current != rate || seen.units != rate {
			t.Errorf("%s: snapshot %+v, error %v; want one key at %v WCU/s, and an error: %t", what, seen, err, rate, fails)
		}
	}
	check("before the failure", 100, false)
	over = over.Add(live.Window)
	shards.err = errors.New("connection reset")
	check("at the failure", 100, true)
	shards.err = nil
	check("after the failure", 200, false)
}

// TestExplained checks that final errors of lookups end printing and the view, and that they are explained.
func TestExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w := &Watched{
			Source: given(sharded(1)), Settled: func() time.Time { return enginetest.Later.Add(time.Hour) }, Shards: &flaky{err: errors.New("AccessDenied")},
			Transient: func(error) bool { return false }, Explain: func(_ context.Context, err error) error { return fmt.Errorf("allow it: %w", err) },
		}
		const want = "allow it: AccessDenied"
		if err := Print(ctx, io.Discard, w, Options{}); err == nil || err.Error() != want {
			t.Errorf("printing ends with %v, want %s", err, want)
		}
		m := newView(ctx, w, Options{})
		_, next := m.Update(m.read())
		m.Update(next())
		if m.err == nil || m.err.Error() != want {
			t.Errorf("the view ends with %v, want %s", m.err, want)
		}
	})
}

// TestNoMatch checks that a filter which matches no written key is an error. A table without writes is none.
func TestNoMatch(t *testing.T) {
	for _, c := range []struct {
		windows []heat.Window
		options Options
		want    string
	}{
		{busy(), Options{Prefix: "nobody"}, `No key that begins with "nobody" was written`},
		{busy(), Options{Index: "nope"}, `No key of index "nope" was written`},
		{busy(), Options{Prefix: "user"}, "deadline"},
		{[]heat.Window{windowOf(enginetest.Later, nil)}, Options{Prefix: "nobody"}, "deadline"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			w := &Watched{Source: given(c.windows), Settled: func() time.Time { return enginetest.Later.Add(time.Hour) }, Run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
			if err := Print(ctx, io.Discard, w, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: error %v, want %q", c.options, err, c.want)
			}
		})
	}
}
