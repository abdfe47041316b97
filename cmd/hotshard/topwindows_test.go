package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	pretty "github.com/jedib0t/go-pretty/v6/text"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/live"
	shards "github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// given is a source of the complete ones of some windows. Its reads fail with err, if any.
type given struct {
	windows []heat.Window
	settled func() time.Time
	err     error
	until   time.Time // until then err is returned; zero is always
}

func (g *given) Windows(_ context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		if g.err != nil && (g.until.IsZero() || time.Now().Before(g.until)) {
			yield(heat.Window{}, g.err)
			return
		}
		for _, w := range g.windows {
			over := !w.Start.Add(live.Window).After(g.settled())
			if over && !w.Start.Before(from) && w.Start.Before(to) && !yield(w, nil) {
				return
			}
		}
	}
}

// hostile is a key that would change the terminal's colours and the direction of text.
const hostile = "esc\x1b[31m\u202e<img onerror>"

// windowOf returns a window of 10 s whose keys have these units. A key of an index has the form index/key.
func windowOf(start time.Time, units map[string]uint64) heat.Window {
	it := heat.Item{Table: "orders", Start: start, Window: 10 * time.Second, Limit: 1000, HotRate: 700}
	for key, n := range units {
		index, name, ofIndex := strings.Cut(key, "/")
		if !ofIndex {
			index, name = "", key
			it.Units += n
		}
		it.Keys = append(it.Keys, heat.Key{Index: index, Key: name, Units: n, Writes: n, Peak: n / 10, PeakAt: start})
	}
	return heat.Window{Start: start, Items: []heat.Item{it}}
}

// watched returns a table with these windows, which are complete as time passes.
func watched(source *given) *heatFeed {
	return &heatFeed{
		Source: source, Settled: source.settled, Name: "orders", Where: "eu-west-1",
		Run:          func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		ExplainError: func(_ context.Context, err error) error { return fmt.Errorf("allow it: %w", err) },
	}
}

// printed returns the output and the error of Print within a time, which begins with the first of a window for each of
// these units.
func printed(t *testing.T, within time.Duration, o viewOptions, units ...map[string]uint64) (out string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		source := &given{settled: time.Now}
		for i, n := range units {
			source.windows = append(source.windows, windowOf(time.Now().Add(time.Duration(i)*live.Window), n))
		}
		var b bytes.Buffer
		o.Table = "orders"
		err = printWindows(ctx, &b, watched(source), o)
		out = b.String()
	})
	return out, err
}

// TestLines checks the lines of JSON, with filters and pseudonyms.
func TestLines(t *testing.T) {
	units := map[string]uint64{"user#7": 7512, "other": 10, "by_city/Rome": 300}
	for _, c := range []struct {
		options viewOptions
		want    []topKey
	}{
		{viewOptions{}, []topKey{
			{Key: "user#7", Status: "hot", Rate: 751.2, Share: 0.7512}, {Key: "Rome", Index: "by_city", Status: "normal", Rate: 30, Share: 0.03}, {Key: "other", Status: "normal", Rate: 1, Share: 0.001},
		}},
		{viewOptions{Index: "by_city"}, []topKey{{Key: "Rome", Index: "by_city", Status: "normal", Rate: 30, Share: 0.03}}},
		{viewOptions{Prefix: "use", Hash: true}, []topKey{{Key: display.Pseudonym("user#7"), Status: "hot", Rate: 751.2, Share: 0.7512}}},
	} {
		c.options.JSON = true
		text, err := printed(t, 25*time.Second, c.options, units, map[string]uint64{"user#7": 1})
		if lines := strings.Split(strings.TrimSpace(text), "\n"); !errors.Is(err, context.DeadlineExceeded) || len(lines) != 2 {
			t.Fatalf("%d lines, %v; want a line for each window:\n%s", len(lines), err, text)
		}
		var got topLine
		require.NoError(t, json.Unmarshal([]byte(text[:strings.Index(text, "\n")]), &got))
		want := topLine{Start: "2000-01-01T00:00:00.000Z", Window: "10s", Coverage: 1, Keys: c.want}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.options, diff)
		}
	}
}

// TestCoverageOfLines checks that a line has the share of its window that was read, and a foreign key's table.
func TestCoverageOfLines(t *testing.T) {
	w := windowOf(time.Unix(0, 0), map[string]uint64{"a": 10})
	w.Items[0].Coverage = 0.937
	text, err := (&viewOptions{Table: "items"}).jsonLine(w, heat.Merge(w.Items))
	if err != nil || !strings.Contains(text, `"coverage":0.93}`) || !strings.Contains(text, `{"table":"orders","key":"a",`) {
		t.Errorf("line %s, %v", text, err)
	}
}

// TestTables checks that each window has a table, with hot keys first and advice for them, until they have cooled.
func TestTables(t *testing.T) {
	cold := map[string]uint64{hostile: 600, "by_city/Rome": 300}
	for i := range 40 {
		cold[fmt.Sprintf("cold-%02d", i)] = 10
	}
	hot := map[string]uint64{"user#7": 8000, "user#9": 9900}
	windows := []map[string]uint64{hot}
	for range 8 {
		windows = append(windows, cold)
	}
	text, err := printed(t, 95*time.Second, viewOptions{}, windows...)
	tables := strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n")
	if !errors.Is(err, context.DeadlineExceeded) || len(tables) != 9 {
		t.Fatalf("%d tables, %v; want 9:\n%s", len(tables), err, text)
	}
	check := func(table string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if table, _, _ = strings.Cut(table, "\x00"); !strings.Contains(table, want) {
				t.Errorf("the table lacks %q:\n%s", want, table)
			}
		}
	}
	check(tables[0], "orders, eu-west-1: 00:00:00 to 00:00:10 UTC, 1,790 WCU/s\n", "   990.0    99%      990  saturated user#9\n   800.0    80%      800  hot       user#7\n", "\nuser#9: ")
	check(tables[8], "     0.0     0%      990  cooled    user#9\n", `    60.0     6%       60  normal    esc\x1b[31m\u202e<img onerror>`, "Rome (by_city)")
	check(tables[0], "     NOW  LIMIT     PEAK  STATUS    KEY\n")
	if strings.Contains(text, "\x1b") || strings.Contains(tables[8], "user#9: ") || strings.Count(tables[8], "\n") > 20 {
		t.Errorf("the output has an escape, advice for a cooled key, or too many lines:\n%s", tables[8])
	}
	if text, _ := printed(t, 15*time.Second, viewOptions{}, nil); !strings.Contains(text, "no writes seen for 10 s\n") {
		t.Errorf("a table without writes: %s", text)
	}
}

// TestQuietDeployment checks that a table of a deployment, which stores no counts of windows without writes, shows that keys
// have cooled.
func TestQuietDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 62*time.Second)
		defer cancel()
		feed := watched(&given{settled: time.Now, windows: []heat.Window{windowOf(time.Now(), map[string]uint64{"user#7": 8000})}})
		feed.Run = nil
		var out bytes.Buffer
		_ = printWindows(ctx, &out, feed, viewOptions{}) // the deadline
		tables := strings.Split(strings.TrimSpace(out.String()), "\n\n")
		if last := tables[len(tables)-1]; len(tables) != 5 || !strings.Contains(last, "00:00:40 to 00:00:50 UTC, 0 WCU/s\norders: no writes seen for 40 s\n") || strings.Contains(last, "NaN") {
			t.Errorf("%d tables, want 5:\n%s", len(tables), out.String())
		}
	})
}

// TestScreens checks that a terminal's table begins in the first cell and fits, and that names keep both ends.
func TestScreens(t *testing.T) {
	long := "begin" + strings.Repeat("x", 500) + "end17"
	keys := []query.HotKey{
		{Key: "C#page#0", Name: long, Type: "counter", Shards: 4, Status: heat.Saturated, Worst: heat.Saturated, Current: 12_345, Peak: 14_000, Advice: strings.Repeat("advice ", 40)},
		{Key: "second", Type: "other", Status: heat.Hot, Worst: heat.Hot, Current: 712.34},
	}
	for i := range 50 {
		keys = append(keys, query.HotKey{Key: fmt.Sprint(i), Type: "other"})
	}
	for _, s := range []screen{{40, 12, true}, {80, 24, true}, {200, 50, true}, {20, 3, true}} {
		text := s.table("orders, "+strings.Repeat("here ", 50), "", 1000, keys, (&viewOptions{}).nameOf)
		body, ok := strings.CutPrefix(text, "\x1b[H\x1b[J")
		lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
		if !ok || len(lines) >= max(s.height, 4) {
			t.Errorf("%+v: %d lines, want a clear screen and fewer lines than it has:\n%s", s, len(lines), text)
		}
		for _, line := range lines {
			if w := pretty.StringWidthWithoutEscSequences(line); w > max(s.width, 40) {
				t.Errorf("%+v: a line of %d columns: %q", s, w, line)
			}
		}
		if !strings.Contains(lines[2], "  C#") || !strings.Contains(lines[2], "12,345") || !strings.Contains(lines[2], "…") || !strings.HasSuffix(lines[2], "7") {
			t.Errorf("%+v: the first key's line is %q", s, lines[2])
		}
	}
	if s := screenOf(io.Discard); s.redraws {
		t.Errorf("%+v for an output that is no terminal", s)
	}
}

// fullDisk is a writer that fails.
type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// TestFaults checks that a transient error loses no window, and that a permanent one, or that of the output, ends Print
// with an explanation.
func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		broken := errors.New("connection reset")
		repaired := time.Now().Add(15 * time.Second)
		source := &given{settled: time.Now, err: broken, until: repaired}
		for i := range 3 {
			source.windows = append(source.windows, windowOf(time.Now().Add(time.Duration(i)*live.Window), map[string]uint64{"a": 1}))
		}
		w := watched(source)
		if err := printWindows(ctx, fullDisk{}, watched(&given{windows: source.windows, settled: time.Now}), viewOptions{JSON: true}); !errors.Is(err, errFull) {
			t.Errorf("error %v, want %v", err, errFull)
		}
		var out bytes.Buffer
		source.windows = append(source.windows, windowOf(time.Now().Add(live.Window), map[string]uint64{"a": 1}))
		if err := printWindows(ctx, &out, w, viewOptions{JSON: true}); !errors.Is(err, context.DeadlineExceeded) || strings.Count(out.String(), "\n") < 2 {
			t.Errorf("%v, output after an outage:\n%s", err, out.String())
		}
		source.err, source.until = eventsource.Final(broken), time.Now().Add(time.Hour)
		if err := printWindows(t.Context(), &out, w, viewOptions{}); err == nil || err.Error() != "allow it: connection reset" {
			t.Errorf("error %v, want the explained one", err)
		}
	})
}

// two is a shard map in which each key has 2 write shards.
type two struct{ query.ShardCounts }

func (two) Since(context.Context, time.Time, time.Time) ([]shardmap.Entry, error) { return nil, nil }

func (two) Lookup(_ context.Context, key string, _ time.Time) (shardmap.Entry, error) {
	return shardmap.Entry{Key: key, Version: 1, Max: 2, History: shards.History{{Count: 2}}}, nil
}

func (two) Partitions(string) int { return 200 }

// TestHashHidesKeys checks that a table of pseudonyms has no key in its advice either.
func TestHashHidesKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		window := windowOf(time.Now(), map[string]uint64{"C#secret#0": 8000, "C#secret#1": 10})
		window.Items[0].Table = ""
		w := watched(&given{settled: time.Now, windows: []heat.Window{window}})
		w.Shards = two{}
		var out bytes.Buffer
		_ = printWindows(ctx, &out, w, viewOptions{Hash: true}) // the deadline
		if text := out.String(); strings.Contains(text, "secret") || !strings.Contains(text, "would stand idle") {
			t.Errorf("want advice on skew, and no secret:\n%s", text)
		}
	})
}
