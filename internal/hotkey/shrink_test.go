package hotkey_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// tester is a test, or a check of one.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

type taskAnswer struct{ Keys, Beats, Shrunk int }

func (f *fixture) task(t tester) taskAnswer {
	t.Helper()
	raw, err := f.handler.Invoke(context.Background(), []byte(hotkey.ShrinkTask))
	var answer taskAnswer
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		t.Fatalf("%s, %v", raw, err)
	}
	return answer
}

// life runs the schedule and the stream for some time: every task interval a task,
// and then its beats and what load gives come through the stream. What load
// returns is lost with the beats if lost says so.
type life struct {
	*fixture
	load func(at time.Time) writes
	lost func(at time.Time) bool

	every time.Duration // the schedule's; 0 for interval
}

const interval = 50 * time.Second // of the quiet period in settings

func (l life) run(t tester, minutes int) (shrunk time.Time) {
	t.Helper()
	every := cmp.Or(l.every, interval)
	for end := l.now.Add(time.Duration(minutes) * time.Minute); l.now.Before(end); l.now = l.now.Add(every) {
		before := len(l.shards.changes)
		l.task(t)
		if len(l.shards.changes) > before {
			shrunk = l.now
		}
		var records writes
		for _, pk := range slices.Sorted(maps.Keys(l.items.puts)) {
			records = append(records, beatOf(pk, l.now))
		}
		clear(l.items.puts)
		if l.load != nil {
			records = append(records, l.load(l.now)...)
		}
		if l.lost == nil || !l.lost(l.now) {
			l.must(t, unwindowed(records, 1+int(l.now.Unix())))
		}
	}
	return shrunk
}

// units are writes to one write shard at a time.
func units(at time.Time, key string, n int) writes { return repeat(key, n, at.Sub(start).Seconds()) }

func TestShrink(t *testing.T) {
	day := func(clock string) time.Time {
		at, err := time.Parse(time.DateTime, "2026-01-05 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for name, c := range map[string]struct {
		begin   string // of the change's force; 13:00 if empty
		key     string // C#a if empty
		load    func(at time.Time) writes
		lost    func(at time.Time) bool
		minutes int
		want    string        // the change; "" for none
		after   time.Duration // from the begin, roughly: the interval after
		log     string
		wcu     int // 100 if 0
	}{
		"nothing to do": {minutes: 30, want: "8>1", after: 11 * time.Minute},
		"too early":     {minutes: 10, want: ""},
		"a little load": {wcu: 10, load: func(at time.Time) writes { return units(at, "C#a#3", 60) }, minutes: 30, want: "8>3", after: 11 * time.Minute},
		"too much load": {wcu: 10, load: func(at time.Time) writes { return slices.Concat(units(at, "C#a#3", 60), units(at, "C#a#4", 60)) }, minutes: 30, log: "more than half"},
		"a burst, then 0": {wcu: 10, load: func(at time.Time) (w writes) {
			for n := range 8 {
				if at.Sub(start) < 3*time.Minute {
					w = append(w, units(at, fmt.Sprint("C#a#", n), 15)...)
				}
			}
			return w
		}, minutes: 30, want: "8>1", after: 14 * time.Minute, log: "more than half"},
		"refused":       {load: func(at time.Time) writes { return writes{seen("C#a", at.Sub(start).Seconds(), "w", 0, 3, 1)} }, minutes: 30, log: "writes were refused"},
		"others' units": {wcu: 2, load: many, minutes: 30, log: "more than half"},
		"an outage":     {lost: func(at time.Time) bool { m := at.Sub(start).Minutes(); return m > 6 && m < 9 }, minutes: 40, want: "8>1", after: 20 * time.Minute, log: "no proof"},
		"one lost run":  {lost: func(at time.Time) bool { return at.Equal(start.Add(10 * interval)) }, minutes: 18, log: "no proof"},
		"a long outage": {lost: func(at time.Time) bool { return at.Sub(start) > 9*time.Minute }, minutes: 60, log: "no proof"},
		"an entity":     {key: "E#e", minutes: 30, want: "8>1", after: 11 * time.Minute},
		"at midnight":   {begin: "23:55:00", key: "E#e", minutes: 30, want: "8>1", after: 16 * time.Minute, log: "no proof"},
		"a board":       {key: "L#b", minutes: 30},
		"sessions":      {key: "S#s", minutes: 30, want: "8>1", after: 11 * time.Minute},
		"a limit":       {key: "R#r", minutes: 30},
	} {
		s := settings()
		s.PartitionWCU = cmp.Or(c.wcu, s.PartitionWCU)
		f := newFixture(s)
		begin := start
		if c.begin != "" {
			begin = day(c.begin)
		}
		if c.key == "" {
			c.key = "C#a"
		}
		f.now = begin
		f.shards.set(c.key, 8, begin)
		at := life{fixture: f, load: c.load, lost: c.lost}.run(t, c.minutes)
		var want []string
		if c.want != "" {
			want = []string{c.key + " " + c.want}
		}
		if !slices.Equal(f.shards.changes, want) {
			t.Errorf("%s: %v; want %v\n%s", name, f.shards.changes, want, f.logs)
		}
		if late := at.Sub(begin) - c.after; c.want != "" && (late < -interval || late > 2*interval) {
			t.Errorf("%s: shrunk after %v, want about %v", name, at.Sub(begin), c.after)
		}
		if logs := f.logs.String(); c.log != "" && strings.Count(logs, c.log) != 1 {
			t.Errorf("%s: %q is not logged once:\n%s", name, c.log, logs)
		}
	}
}

// many are so many keys that what an item doesn't list may be the key's.
func many(at time.Time) writes {
	var w writes
	for i := range 250 {
		w = append(w, units(at, fmt.Sprintf("C#other-%d#0", i), 3)...)
	}
	return w
}

// TestSilentWriteShard: one write shard whose beats stop, or never come, is enough
// to prove nothing.
func TestSilentWriteShard(t *testing.T) {
	for _, silent := range []time.Duration{0, 8 * time.Minute} {
		f := newFixture(settings())
		f.shards.set("C#a", 8, start)
		for ; f.now.Before(start.Add(40 * time.Minute)); f.now = f.now.Add(interval) {
			f.task(t)
			var records writes
			for _, pk := range slices.Sorted(maps.Keys(f.items.puts)) {
				if pk != "C#a#5" || f.now.Sub(start) < silent {
					records = append(records, beatOf(pk, f.now))
				}
			}
			f.must(t, unwindowed(records, 1+int(f.now.Unix())))
		}
		if len(f.shards.changes) > 0 || strings.Count(f.logs.String(), "no proof") != 1 {
			t.Errorf("silent from %v on: %v\n%s", silent, f.shards.changes, f.logs)
		}
	}
}

// TestNoShrinkWithoutProof loses deliveries at random: whenever a count is lowered,
// all deliveries of the quiet period before the last one had been counted, and no
// load there needed more.
func TestNoShrinkWithoutProof(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(settings())
		f.shards.set("C#a", 4, start.Add(-time.Hour))
		lost := map[time.Time]bool{}
		for i := range 50 {
			lost[start.Add(time.Duration(i)*interval)] = rapid.IntRange(0, 14).Draw(rt, "lost") == 0
		}
		heavy := start.Add(time.Duration(rapid.IntRange(0, 50).Draw(rt, "heavy")) * interval)
		load := func(at time.Time) (w writes) {
			for n := range 4 {
				if at.Equal(heavy) {
					w = append(w, units(at, fmt.Sprint("C#a#", n), 150)...) // 60 a second need three
				}
			}
			return w
		}
		shrunk := life{fixture: f, load: load, lost: func(at time.Time) bool { return lost[at] }}.run(rt, 41)
		if shrunk.IsZero() {
			return
		}
		last := shrunk.Add(-interval)
		for lost[last] {
			last = last.Add(-interval)
		}
		for at := last; !at.Before(last.Add(-10 * time.Minute)); at = at.Add(-interval) {
			if lost[at] || at.Equal(heavy) {
				rt.Fatalf("shrunk at %v; at %v lost %v, heavy %v", shrunk, at, lost[at], at.Equal(heavy))
			}
		}
	})
}

func TestShrinkControl(t *testing.T) {
	for control, want := range map[hotkey.Control]int{hotkey.Act: 1, hotkey.Observe: 0, hotkey.Off: 0} {
		s := settings()
		s.Control = control
		f := newFixture(s)
		f.shards.set("C#a", 8, start)
		life{fixture: f}.run(t, 30)
		would := strings.Contains(f.logs.String(), "shard count would change")
		if len(f.shards.changes) != want || would != (control == hotkey.Observe) {
			t.Errorf("%s: %v\n%s", control, f.shards.changes, f.logs)
		}
	}
}

func TestBeats(t *testing.T) {
	f := newFixture(settings())
	f.shards.set("C#a", 3, start.Add(-time.Hour))
	f.shards.set("E#e", 2, start.Add(-time.Minute))
	f.shards.set("C#one", 1, start.Add(-time.Hour))
	f.shards.set("C#soon", 4, start.Add(time.Second))
	f.shards.set("C#pinned", 4, start.Add(-time.Hour))
	pinned := f.shards.entries["C#pinned"]
	pinned.Pinned = true
	f.shards.entries["C#pinned"] = pinned
	if got := f.task(t); got != (taskAnswer{Keys: 2, Beats: 5}) || !strings.Contains(f.logs.String(), `msg="shrink task done" keys=2 beats=5`) {
		t.Errorf("the task answers %+v", got)
	}
	got := slices.Sorted(maps.Keys(f.items.puts))
	if want := []string{"C#a#0", "C#a#1", "C#a#2", "E#e#2026-01-05#0", "E#e#2026-01-05#1"}; !slices.Equal(got, want) {
		t.Errorf("beats at %v", got)
	}
	f.now = f.now.Add(interval/2 - 1)
	if got := f.task(t); got.Beats != 0 {
		t.Errorf("right after: %+v", got)
	}
	f.now = f.now.Add(1)
	f.items.fail = errPut
	if got := f.task(t); got.Beats != 0 || strings.Count(f.logs.String(), "beats not put") != 1 {
		t.Errorf("without a table: %+v", got)
	}
}

func TestTaskFaults(t *testing.T) {
	f := newFixture(settings())
	if _, err := f.handler.Invoke(t.Context(), []byte(`{"task":"dance"}`)); err == nil || !strings.Contains(err.Error(), `task "dance" is not known`) {
		t.Errorf("got %v", err)
	}
	for _, payload := range []string{`{"task":1}`, `{"task":"shrink","Records":[]}`, `{"task":null}`} {
		if _, err := f.handler.Invoke(t.Context(), []byte(payload)); strings.HasPrefix(payload, `{"task":"shrink"`) != (err == nil) {
			t.Errorf("%s: %v", payload, err)
		}
	}
	f.shards.set("C#a", 8, start.Add(-time.Hour))
	f.table.failQuery = errPut
	if _, err := f.handler.Invoke(t.Context(), []byte(hotkey.ShrinkTask)); err == nil || len(f.items.puts) != 8 {
		t.Errorf("without heat items: %v, %d beats", err, len(f.items.puts))
	}
	f.shards.fail = ddb.ErrStale
	if _, err := f.handler.Invoke(t.Context(), []byte(hotkey.ShrinkTask)); err == nil || !strings.Contains(err.Error(), "listing sharded keys") {
		t.Errorf("without the map: %v", err)
	}
}
