package hotkeys_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// tester is a [testing.TB] or a [rapid.T].
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// taskResult is the result of the shrink task or of the heat task.
type taskResult struct{ Keys, Shrunk, Windows, Blocks int }

func (f *fixture) runTask(t tester, task string) (result taskResult) {
	t.Helper()
	raw, err := f.handler.Invoke(context.Background(), []byte(task))
	if err == nil {
		err = json.Unmarshal(raw, &result)
	}
	if err != nil {
		t.Fatalf("the task %s returns %s, %v", task, raw, err)
	}
	return result
}

func (f *fixture) shrinkTask(t tester) taskResult { return f.runTask(t, hotkeys.ShrinkTask) }

func (f *fixture) heatTask(t tester) taskResult { return f.runTask(t, hotkeys.HeatTask) }

// life simulates a stream and the task's schedule. Each step delivers the writes of load and runs the task.
type life struct {
	*fixture
	every time.Duration
	load  func(at time.Time) writes
	down  func(at time.Time) bool // no writes are delivered; may be nil
	off   func(at time.Time) bool // the task does not run; may be nil

	heat bool // the heat task also runs
}

// run simulates some time. It returns the time of the last shrink.
func (l life) run(t tester, lasting time.Duration) (shrunk time.Time) {
	t.Helper()
	for end := l.now.Add(lasting); l.now.Before(end); l.now = l.now.Add(l.every) {
		if w := l.load(l.now); len(w) > 0 && (l.down == nil || !l.down(l.now)) {
			l.must(t, unwindowed(w, 1+int(l.now.Unix())))
		}
		before := len(l.shards.changes)
		if l.off == nil || !l.off(l.now) {
			if l.heat {
				l.heatTask(t)
			}
			l.shrinkTask(t)
		}
		if len(l.shards.changes) > before {
			shrunk = l.now
		}
	}
	return shrunk
}

// units returns n writes to a key at a time.
func units(at time.Time, key string, n int) writes { return repeat(key, n, at.Sub(start).Seconds()) }

// others returns one write to another key.
func others(at time.Time) writes { return units(at, "C#other#0", 1) }

// between reports whether a time is at least from, and less than to, minutes after start.
func between(at time.Time, from, to float64) bool {
	m := at.Sub(start).Minutes()
	return m >= from && m < to
}

// shrinkCase is a life of a key with 8 write shards.
type shrinkCase struct {
	key     string
	load    func(at time.Time) writes // others if nil
	down    func(at time.Time) bool
	off     func(at time.Time) bool
	lasting time.Duration
	want    string        // the change; "" for none
	after   time.Duration // earliest time of the change after start; two intervals later at most
	log     string        // a fragment of the logs
}

func (c shrinkCase) check(t *testing.T, every time.Duration, heat bool) {
	t.Helper()
	s := settings()
	s.PartitionWCU = 10
	f := newFixture(s)
	f.shards.set(c.key, 8, start)
	if c.load == nil {
		c.load = others
	}
	at := life{f, every, c.load, c.down, c.off, heat}.run(t, c.lasting)
	var want []string
	if c.want != "" {
		want = []string{c.key + " " + c.want}
	}
	if !slices.Equal(f.shards.changes, want) {
		t.Errorf("changes %v, want %v\n%s", f.shards.changes, want, f.logs)
	}
	if late := at.Sub(start) - c.after; c.want != "" && (late < 0 || late > 2*every) {
		t.Errorf("shrunk after %v, want about %v\n%s", at.Sub(start), c.after, f.logs)
	}
	logs := f.logs.String()
	if !strings.Contains(logs, c.log) {
		t.Errorf("%q is not logged:\n%s", c.log, logs)
	}
	if strings.Count(logs, "shard count not lowered") > 3 {
		t.Errorf("a reason is logged more than three times:\n%s", logs)
	}
}

// TestShrink checks that a counter and a limit shrink by the heaviest window of the quiet period.
func TestShrink(t *testing.T) {
	for name, c := range map[string]shrinkCase{
		"no load":       {want: "8>1", after: 10 * time.Minute},
		"too early":     {lasting: 10 * time.Minute},
		"a little load": {load: func(at time.Time) writes { return units(at, "C#a#3", 60) }, want: "8>3", after: 10 * time.Minute},
		"too much load": {load: func(at time.Time) writes { return slices.Concat(units(at, "C#a#3", 60), units(at, "C#a#4", 60)) }, log: "more than half"},
		"a burst, then nothing": {load: func(at time.Time) (w writes) {
			for n := range 8 {
				if between(at, 0, 3) {
					w = append(w, units(at, fmt.Sprint("C#a#", n), 15)...)
				}
			}
			return append(w, others(at)...)
		}, want: "8>1", after: 13 * time.Minute, log: "more than half"},
		"others' units": {load: many, log: "more than half"},
		"an idle table": {load: func(at time.Time) (w writes) {
			if between(at, 20, 21) {
				w = others(at)
			}
			return w
		}, want: "8>1", after: 20 * time.Minute, log: "no window was reported recently"},
		"the detector is down": {down: func(time.Time) bool { return true }, log: "no window was reported recently"},
		"an unreadable record": {load: func(at time.Time) writes {
			if between(at, 5, 6) {
				return append(others(at), write{raw: badRecords["no time"]})
			}
			return others(at)
		}, want: "8>1", after: 15 * time.Minute, log: "may not have been counted"},
		"a limit":          {key: "R#r", want: "8>1", after: 10 * time.Minute},
		"a limit's load":   {key: "R#r", load: limits(60), want: "8>3", after: 10 * time.Minute},
		"too much of that": {key: "R#r", load: limits(120), log: "more than half"},
	} {
		t.Run(name, func(t *testing.T) {
			c.key, c.lasting = cmp.Or(c.key, "C#a"), cmp.Or(c.lasting, 30*time.Minute)
			c.check(t, 50*time.Second, false)
			c.check(t, 50*time.Second, true)
		})
	}
}

// limits returns a load of n units of a limit, half of them in its window of a minute and half in that of an hour.
func limits(n int) func(at time.Time) writes {
	return func(at time.Time) writes {
		return append(units(at, fmt.Sprintf("R#r#60#%d#3", at.Truncate(time.Minute).Unix()), n/2),
			units(at, fmt.Sprintf("R#r#3600#%d#3", at.Truncate(time.Hour).Unix()), n/2)...)
	}
}

// many returns writes to so many keys that the key's write shards may be unlisted.
func many(at time.Time) (w writes) {
	for i := range 250 {
		w = append(w, units(at, fmt.Sprintf("C#other-%d#0", i), 14)...)
	}
	return w
}

// TestShrinkByTheDay checks that keys with calculated or indexed write shards shrink after 24 hours in which every
// window was reported and low.
func TestShrinkByTheDay(t *testing.T) {
	const first = 25*time.Hour + 20*time.Second // 24 hours, one hour and two windows, from 13:00 on
	entity := func(n int, from, to float64) func(at time.Time) writes {
		return func(at time.Time) writes {
			if between(at, from, to) {
				return append(others(at), units(at, "E#e#"+at.Format(time.DateOnly)+"#3", n)...)
			}
			return others(at)
		}
	}
	for name, c := range map[string]shrinkCase{
		"no load":              {want: "8>1", after: first},
		"too early":            {lasting: 25 * time.Hour},
		"a little load":        {load: entity(40, 0, 1e9), want: "8>4", after: first},
		"too much load":        {load: entity(60, 0, 1e9), log: "more than half"},
		"once too much":        {load: entity(60, 300, 320), want: "8>1", after: 31*time.Hour + 20*time.Second, log: "more than half"},
		"too much now":         {load: entity(60, 1440, 1e9), log: "more than half"},
		"a board":              {key: "L#b", want: "8>1", after: first},
		"a board's load":       {key: "L#b", load: func(at time.Time) writes { return scores("all", 3, 30, at.Sub(start).Seconds(), true) }, log: "more than half"},
		"sessions":             {key: "S#s", want: "8>1", after: first},
		"an unreadable record": {load: func(at time.Time) writes { return append(others(at), write{raw: badRecords["no time"]}) }, log: "may not have been counted"},
		"the detector is down": {down: func(time.Time) bool { return true }, log: "no window was reported recently"},
		"an idle night":        {down: func(at time.Time) bool { return between(at, 600, 1200) }, want: "8>1", after: first},
		"no schedule":          {off: func(at time.Time) bool { return between(at, 100, 220) }, want: "8>1", after: first},
		"no schedule for long": {off: func(at time.Time) bool { return between(at, 100, 500) }, want: "8>1", after: first},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.key, c.lasting = cmp.Or(c.key, "E#e"), cmp.Or(c.lasting, 33*time.Hour)
			c.check(t, 20*time.Minute, false)
			c.check(t, 20*time.Minute, true)
		})
	}
}

// TestShrinkControl checks that a key shrinks with control act, is logged with observe, and neither with off.
func TestShrinkControl(t *testing.T) {
	for control, want := range map[growth.Control]int{growth.Act: 1, growth.Observe: 0, growth.Off: 0} {
		s := settings()
		s.Control = control
		f := newFixture(s)
		f.shards.set("C#a", 8, start)
		life{fixture: f, every: time.Minute, load: others}.run(t, 30*time.Minute)
		would := strings.Contains(f.logs.String(), "shard count would change")
		if len(f.shards.changes) != want || would != (control == growth.Observe) || strings.Contains(f.logs.String(), "shrunk=1") != (want == 1) {
			t.Errorf("%s: changes %v, want %d\n%s", control, f.shards.changes, want, f.logs)
		}
	}
}

// TestShrinkCandidates checks that the task considers neither keys with one write shard, nor pinned keys, nor keys with
// a pending change.
func TestShrinkCandidates(t *testing.T) {
	f := newFixture(settings())
	f.shards.set("C#a", 3, start.Add(-time.Hour))
	f.shards.set("E#e", 2, start.Add(-time.Minute))
	f.shards.set("C#one", 1, start.Add(-time.Hour))
	f.shards.set("C#soon", 4, start.Add(time.Second))
	f.shards.set("C#pinned", 4, start.Add(-time.Hour))
	pinned := f.shards.entries["C#pinned"]
	pinned.Pinned = true
	f.shards.entries["C#pinned"] = pinned
	if got := f.shrinkTask(t); got != (taskResult{Keys: 2}) || !strings.Contains(f.logs.String(), `msg="shrink task done" keys=2 shrunk=0`) {
		t.Errorf("the task returns %+v, want 2 keys\n%s", got, f.logs)
	}
}

// TestLateWindows checks that a window that is counted more than 30 minutes after its end is incomplete, since earlier
// records may have been discarded.
func TestLateWindows(t *testing.T) {
	for late, want := range map[time.Duration]bool{30 * time.Minute: false, 31 * time.Minute: true} {
		f := newFixture(settings())
		f.now = start.Add(10*time.Second + late)
		f.must(t, unwindowed(others(start), 1))
		for _, item := range parsed(t, f) {
			if item.Incomplete != want {
				t.Errorf("%v late: incomplete %v, want %v", late, item.Incomplete, want)
			}
		}
	}
}

// TestHolesProveNothing checks that an entity does not shrink by a quiet day of which a minute or a block is missing, or a
// block is marked, and that hours of quiet don't outweigh a storm in the newest minutes.
func TestHolesProveNothing(t *testing.T) {
	missing := func(pk string, at time.Time) func(t *testing.T, f *fixture) {
		return func(t *testing.T, f *fixture) {
			sk := heat.SortBound(at)
			at, found := slices.BinarySearch(f.table.byPK[pk], pk+" "+sk+"#")
			if !found {
				t.Fatalf("no item at %s in %s", sk, pk)
			}
			f.table.byPK[pk] = slices.Delete(f.table.byPK[pk], at, at+1)
		}
	}
	noon := start.Add(23 * time.Hour)
	for name, c := range map[string]struct {
		hole func(t *testing.T, f *fixture)
		want []string
		log  string
	}{
		"none":             {func(*testing.T, *fixture) {}, []string{"E#e 8>1"}, "no window since"},
		"a missing block":  {missing("H#10m#2026-01-06", noon), nil, unreadDoubt},
		"a mark":           {func(t *testing.T, f *fixture) { f.putHeat(t, heat.LateMark(noon.Add(9*time.Minute), f.now)) }, nil, unreadDoubt},
		"a missing minute": {missing("H#1m#2026-01-06T14", start.Add(25*time.Hour+10*time.Minute)), nil, unreadDoubt},
		"a storm since then": {func(t *testing.T, f *fixture) {
			f.must(t, unwindowed(units(f.now, "E#e#2026-01-06#0", 600), 9_000_000))
		}, nil, "more than half"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(settings())
			life{fixture: f, every: time.Minute, load: others, heat: true}.run(t, 25*time.Hour+30*time.Minute)
			f.shards.set("E#e", 8, start)
			c.hole(t, f)
			if f.shrinkTask(t); !slices.Equal(f.shards.changes, c.want) || !strings.Contains(f.logs.String(), c.log) {
				t.Errorf("changes %v, want %v, and %q in the logs:\n%.3000s", f.shards.changes, c.want, c.log, f.logs)
			}
		})
	}
}

// unreadDoubt is in the logs if a hole keeps a key from shrinking.
const unreadDoubt = "may not have been counted"

// TestTaskFaults checks the errors of unknown tasks, and of a shrink task that can't read heat items or the shard map.
func TestTaskFaults(t *testing.T) {
	f := newFixture(settings())
	if _, err := f.handler.Invoke(t.Context(), []byte(`{"task":"dance"}`)); err == nil || !strings.Contains(err.Error(), `unknown task "dance"`) {
		t.Errorf("unknown task: error %v", err)
	}
	for _, payload := range []string{`{"task":1}`, `{"task":"shrink","Records":[]}`, `{"task":null}`} {
		if _, err := f.handler.Invoke(t.Context(), []byte(payload)); strings.HasPrefix(payload, `{"task":"shrink"`) != (err == nil) {
			t.Errorf("payload %s: error %v", payload, err)
		}
	}
	f.shards.set("C#a", 8, start.Add(-time.Hour))
	f.shards.set("E#e", 8, start.Add(-30*time.Hour))
	f.table.failQuery = errPut
	if _, err := f.handler.Invoke(t.Context(), []byte(hotkeys.ShrinkTask)); err == nil || !strings.Contains(err.Error(), "reading the heat") {
		t.Errorf("unreadable heat items: error %v", err)
	}
	f.table.failQuery = nil
	f.shards.fail = shard.ErrStale
	if _, err := f.handler.Invoke(t.Context(), []byte(hotkeys.ShrinkTask)); err == nil || !strings.Contains(err.Error(), "listing the keys in the shard map") {
		t.Errorf("unreadable shard map: error %v", err)
	}
}

// TestNoShrinkWithoutProof checks that an entity shrinks only if all writes of the day before were counted, and fit
// half of the write shards. Two stream shards have random outages of the detector in two days: one for up to 50
// minutes, or both for hours, so that records older than an hour are discarded.
func TestNoShrinkWithoutProof(t *testing.T) {
	shrunk := 0
	base := uint64(1) // in the long run other lives each time
	if require.LongRun {
		base = require.Seed(t)
	}
	lives := require.Runs(8, 40)
	for i := range uint64(lives) {
		seed := base + i
		if newOutages(seed).play(t) {
			shrunk++
		}
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
	if shrunk < lives/8 {
		t.Errorf("the entity shrank in %d of %d lives, want %d or more (seeds from %d)", shrunk, lives, lives/8, base)
	}
}

// outages is a simulation of TestNoShrinkWithoutProof, in steps of ten minutes.
type outages struct {
	rng *rand.Rand
	*fixture
	queues     [2][]written // by stream shard
	all        []written    // of both stream shards, alternately
	until      [2]time.Time // ends of outages, by stream shard
	heavy      float64      // share of the steps with a heavy load
	outageRate float64      // share of the steps at which an outage begins
}

// written is the load of one stream shard in one step.
type written struct {
	at      time.Time
	units   int
	counted bool
}

func newOutages(seed uint64) *outages {
	s := settings()
	s.PartitionWCU, s.HeatRetention = 10, 100*time.Hour
	o := &outages{rng: rand.New(rand.NewPCG(seed, 1)), fixture: newFixture(s)}
	o.heavy, o.outageRate = []float64{0, 0, 0.005}[o.rng.IntN(3)], []float64{0, 0.002, 0.01}[o.rng.IntN(3)]
	return o
}

// play simulates up to the first shrink, which it checks. It reports whether there was one.
func (o *outages) play(t *testing.T) (shrunk bool) {
	t.Helper()
	o.shards.set("E#e", 8, start.Add(-time.Hour))
	for ; o.now.Before(start.Add(48 * time.Hour)); o.now = o.now.Add(10 * time.Minute) {
		for n := range o.queues {
			o.write(n)
		}
		o.fail()
		for n := range o.queues {
			o.deliver(t, n)
		}
		if o.rng.IntN(3) == 0 {
			if o.shrinkTask(t); len(o.shards.changes) > 0 {
				o.check(t)
				return true
			}
		}
	}
	return false
}

// write adds a step's load to a stream shard's queue.
func (o *outages) write(n int) {
	units := o.rng.IntN(20)
	if o.rng.Float64() < o.heavy {
		units = 60 // a partition takes 100 in a window; 8 write shards are planned for 100 as well
	}
	o.queues[n] = append(o.queues[n], written{at: o.now, units: units})
	o.all = append(o.all, written{at: o.now, units: units})
}

// fail begins outages at random.
func (o *outages) fail() {
	if n := o.rng.IntN(2); o.rng.Float64() < o.outageRate && len(o.queues[n]) == 1 {
		o.until[n] = o.now.Add(time.Duration(o.rng.IntN(51)) * time.Minute)
	}
	if o.rng.Float64() < o.outageRate {
		end := o.now.Add(time.Duration(o.rng.IntN(600)) * time.Minute)
		o.until = [2]time.Time{end, end}
	}
}

// deliver delivers a stream shard's queue, except discarded records, unless there is an outage.
func (o *outages) deliver(t *testing.T, n int) {
	t.Helper()
	if o.now.Before(o.until[n]) {
		return
	}
	for _, m := range o.queues[n] {
		if o.now.Sub(m.at) > hotkeys.RecordAge {
			continue
		}
		name := fmt.Sprintf("E#e#%s#%d", m.at.Format(time.DateOnly), n)
		w := append(units(m.at, name, m.units), units(m.at, fmt.Sprint("C#other#", n), 1)...)
		o.must(t, unwindowed(w, n+2*int(m.at.Unix())))
		for i := range o.all {
			if o.all[i].at.Equal(m.at) && i%2 == n {
				o.all[i].counted = true
			}
		}
	}
	o.queues[n] = nil
}

// check checks the load of the day before a shrink.
func (o *outages) check(t *testing.T) {
	t.Helper()
	for i := 0; i < len(o.all); i += 2 {
		a, b := o.all[i], o.all[i+1]
		age := o.now.Sub(a.at)
		if age <= 25*time.Hour && age > time.Hour && (!a.counted || !b.counted) {
			t.Errorf("shrunk at %v, and writes at %v were not counted: %+v, %+v\n%s", o.now, a.at, a, b, o.logs)
		}
		if age <= 25*time.Hour && a.counted && b.counted && a.units+b.units > 50 {
			t.Errorf("shrunk at %v with %d units at %v, want at most 50", o.now, a.units+b.units, a.at)
		}
	}
}
