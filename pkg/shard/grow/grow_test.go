package grow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// fakeShards is a shard map in memory.
type fakeShards struct {
	entries    map[string]shardmap.Entry
	partitions int
	lead       time.Duration
	fails      error  // the error of all calls; may be nil
	between    func() // called between the read of an entry and its change; may be nil
	reads      int
	changes    []int // the counts of all changes
}

func (f *fakeShards) Current(_ context.Context, key string) (shardmap.Entry, error) {
	f.reads++
	return f.entry(key), f.fails
}

func (f *fakeShards) entry(key string) shardmap.Entry {
	e := f.entries[key]
	e.Key = key
	return e
}

func (f *fakeShards) GrowFrom(_ context.Context, seen shardmap.Entry, count int, _ shardmap.Note, now time.Time) (shardmap.Entry, error) {
	if f.between != nil {
		f.between()
	}
	if e := f.entry(seen.Key); e.Version != seen.Version {
		return e, shardmap.ErrNoChange
	}
	if f.fails != nil {
		return seen, f.fails
	}
	f.changes = append(f.changes, count)
	f.set(seen.Key, count, now)
	return f.entry(seen.Key), nil
}

func (f *fakeShards) Partitions(string) int { return f.partitions }

func (f *fakeShards) set(key string, count int, now time.Time) {
	e := f.entry(key)
	e.Version++
	e.Updated = now
	e.History = append(slices.Clone(e.History), shard.Change{At: now.Add(f.lead), Count: count})
	f.entries[key] = e
}

// process is a Grower with a test clock and its own view. Only storm refreshes the view.
type process struct {
	*Grower
	t      *testing.T
	shards *fakeShards
	view   map[string]shardmap.Entry
	clock  time.Time
	waits  int
	log    *bytes.Buffer
	table  string
	clear  func(ctx context.Context, from, to int) error
	next   uint64
}

func newShards() *fakeShards {
	return &fakeShards{entries: map[string]shardmap.Entry{}, partitions: 64}
}

func newProcess(t *testing.T, shards *fakeShards, o Options) *process {
	p := &process{t: t, shards: shards, view: map[string]shardmap.Entry{}, clock: time.Unix(1_800_000_000, 0), log: &bytes.Buffer{}}
	o.Clock, o.Logger = func() time.Time { return p.clock }, slog.New(slog.NewTextHandler(p.log, nil))
	var err error
	if p.Grower, err = New(shards, o); err != nil {
		t.Fatal(err)
	}
	p.wait = func(context.Context) bool { p.waits++; return true }
	return p
}

// write observes a request with one attempt, which uses the view.
func (p *process) write(key string, outcome shard.Outcome) {
	p.next++
	e := p.view[key]
	k, _, _ := schema.CutKind(key)
	switch {
	case strings.HasPrefix(key, "clicks/"):
		k = schema.OwnRandom
	case strings.HasPrefix(key, "orders/"):
		k = schema.OwnTimed
	}
	p.ObserveAttempt(p.t.Context(), shard.Attempt{
		Key: key, Kind: string(k), Shard: int(p.next) % e.History.Newest(), Table: p.table, CheckUnused: p.clear, Call: p.next, Items: p.next, At: p.clock, Outcome: outcome,
		Version: e.Version, Shards: e.History.Newest(), Effective: e.Effective(), Changed: e.Updated, Pinned: e.Pinned,
	})
}

// storm observes ten requests a second with the same outcome. It refreshes the view once a second.
func (p *process) storm(key string, lasting time.Duration, outcome shard.Outcome) {
	for n := range int(lasting / (100 * time.Millisecond)) {
		p.clock = p.clock.Add(100 * time.Millisecond)
		p.write(key, outcome)
		if n%10 == 9 {
			p.view[key] = p.shards.entry(key)
		}
	}
}

// TestThrottlesGrowAKey checks how far throttles grow a key of each kind within 20 s.
func TestThrottlesGrowAKey(t *testing.T) {
	for key, want := range map[string][]int{
		"C#hot": {4, 16, 64, 256}, "R#hot": {4, 16, 64, 256}, // up to four times the partitions
		"E#hot": {24, 64, 256}, "S#hot": {24}, "L#hot": {24}, "nobody's": nil,
		"clicks/hot": {24, 64, 256}, "orders/hot": {24, 64, 256},
	} {
		shards := newShards()
		p := newProcess(t, shards, Options{})
		p.storm(key, 20*time.Second, shard.Throttled)
		rechecks := shards.reads - len(shards.changes)
		if atOnce := key == "C#hot" || key == "clicks/hot"; !atOnce && rechecks > 0 || atOnce && rechecks != len(shards.changes) {
			t.Errorf("%s: %d rechecks in %d changes, want one for each change that new items use at once and none else", key, rechecks, len(shards.changes))
		}
		for i, why := range []string{"(1 shard)", "(4 shards)", "(16 shards)"} {
			if key[0] == 'C' && strings.Count(p.log.String(), "were throttled "+why) != 1 {
				t.Errorf("%s: no log line of change %d is of %s", key, i, why)
			}
		}
		if !slices.Equal(shards.changes, want) || p.waits != shards.reads || len(want) > 0 && !strings.Contains(p.log.String(), "msg=grown key="+key) {
			t.Errorf("%s: %v, want %v; %d waits, %d reads; log:\n%s", key, shards.changes, want, p.waits, shards.reads, p.log)
		}
	}
}

// TestPendingGrowthIsNotRepeated checks that a key does not grow again before its last change takes effect.
func TestPendingGrowthIsNotRepeated(t *testing.T) {
	for key, want := range map[string][]int{"E#hot": {24, 64}, "orders/hot": {24, 64}} {
		shards := newShards()
		shards.lead = 5 * time.Second
		p := newProcess(t, shards, Options{})
		p.storm(key, 5*time.Second, shard.Throttled)
		if !slices.Equal(shards.changes, want[:1]) {
			t.Errorf("%s: before the change takes effect: %v, want %v", key, shards.changes, want[:1])
		}
		p.storm(key, 2*time.Second, shard.Throttled)
		if !slices.Equal(shards.changes, want) {
			t.Errorf("%s: after the change took effect: %v, want %v", key, shards.changes, want)
		}
	}
}

// TestBoardGrowsOncePerMinute checks the pause between a board's growths, whose entries move only with their next writes.
func TestBoardGrowsOncePerMinute(t *testing.T) {
	shards := newShards()
	p := newProcess(t, shards, Options{})
	p.storm("L#hot", 59*time.Second, shard.Throttled)
	if !slices.Equal(shards.changes, []int{24}) {
		t.Errorf("within a minute: %v, want [24]", shards.changes)
	}
	p.storm("L#hot", 10*time.Second, shard.Throttled)
	if !slices.Equal(shards.changes, []int{24, 64}) {
		t.Errorf("after a minute: %v, want [24 64]", shards.changes)
	}
}

// TestConflictsGrowCountersAndLimits checks that conflicts grow counters and limits only. Other items conflict with their
// own writers on any write shard.
func TestConflictsGrowCountersAndLimits(t *testing.T) {
	for key, want := range map[string]int{"C#k": 4, "R#k": 4, "E#k": 1, "S#k": 1, "L#k": 1} {
		shards := newShards()
		newProcess(t, shards, Options{}).storm(key, time.Second, shard.Conflicted)
		if got := shards.entry(key).History.Newest(); got != want {
			t.Errorf("%s: %d write shards, want %d", key, got, want)
		}
	}
}

// TestChangeOfAnotherProcessIsAdopted checks that a process adopts a change that another process made before its call, or
// during it.
func TestChangeOfAnotherProcessIsAdopted(t *testing.T) {
	shards := newShards()
	p := newProcess(t, shards, Options{})
	shards.set("C#k", 4, p.clock)
	p.storm("C#k", 300*time.Millisecond, shard.Throttled)
	if len(shards.changes) > 0 || shards.reads != 2 { // a recheck and the change's read
		t.Fatalf("%d reads, and changes to %v after the other process's; want 2 and none", shards.reads, shards.changes)
	}
	p.storm("C#k", 5*time.Second, shard.Throttled) // with the old view at first
	if !slices.Equal(shards.changes, []int{16, 64, 256}) {
		t.Fatalf("changes after the adopted one: %v, want [16 64 256]", shards.changes)
	}
	other := newShards()
	q := newProcess(t, other, Options{})
	other.between = func() { other.set("C#k", 16, q.clock); other.between = nil }
	q.storm("C#k", 300*time.Millisecond, shard.Throttled)
	if len(other.changes) > 0 || q.log.Len() > 0 {
		t.Fatalf("the loser changed %v, want none; log:\n%s", other.changes, q.log)
	}
	q.view["C#k"] = other.entry("C#k")
	q.storm("C#k", 600*time.Millisecond, shard.Throttled)
	if !slices.Equal(other.changes, []int{64}) {
		t.Errorf("changes after the winner's: %v, want [64]", other.changes)
	}
}

// TestUnavailableMapIsRetried checks that an unavailable shard map is retried with a growing pause.
func TestUnavailableMapIsRetried(t *testing.T) {
	shards := newShards()
	shards.fails = shard.ErrUnavailable
	p := newProcess(t, shards, Options{})
	p.storm("C#k", 10*time.Second, shard.Throttled)
	if len(shards.changes) > 0 || shards.reads < 4 || shards.reads > 6 || !strings.Contains(p.log.String(), "shard count not read") {
		t.Errorf("changes %v, %d reads, want none and 4 to 6; log:\n%s", shards.changes, shards.reads, p.log)
	}
	shards.fails = nil
	p.storm("C#k", 6*time.Second, shard.Throttled)
	if len(shards.changes) == 0 || shards.changes[0] != 4 {
		t.Errorf("changes when the map is available: %v, want 4 first", shards.changes)
	}
}

// TestLogLines checks the first line that is logged in each case. It names keys as Shown does.
func TestLogLines(t *testing.T) {
	const why = `why="At least half its writes were throttled (1 shard)"`
	down := errors.New("down")
	for name, c := range map[string]struct {
		key             string
		observe         bool
		partitions      int
		read, change    error
		clear           error
		want            string // without the time
		changes, begins int    // changes made, and write shards before
	}{
		"grown":         {key: "C#k", want: "level=WARN msg=grown key=<C#k> shards=4 effective_at=2027-01-15T08:00:04.300Z " + why, changes: 1},
		"observed":      {key: "C#k", observe: true, want: `level=WARN msg="would grow" key=<C#k> shards=4 ` + why},
		"full":          {key: "C#k", change: fmt.Errorf("changing: %w", shardmap.ErrFull), want: `level=ERROR msg="not grown: the shard map is full" key=<C#k> shards=4 error="changing: ` + shardmap.ErrFull.Error() + `"`},
		"failed":        {key: "C#k", change: down, want: `level=ERROR msg="not grown" key=<C#k> shards=4 error=down`},
		"pinned":        {key: "C#k", change: fmt.Errorf("changing: %w", shardmap.ErrPinned)},
		"another's":     {key: "C#k", change: fmt.Errorf("changing: %w", shardmap.ErrNoChange)},
		"not read":      {key: "C#k", read: down, want: `level=WARN msg="shard count not read" key=<C#k> error=down`},
		"occupied":      {key: "orders/k", clear: &shard.KeyError{Key: "k#2"}, want: `level=ERROR msg="not grown: items that the shard map does not know have the partition key of a new write shard" key=<orders/k> shards=24 in_the_way=<k#2>`},
		"not looked up": {key: "orders/k", clear: down, want: `level=ERROR msg="not grown: the partition keys of new write shards were not read" key=<orders/k> shards=24 error=down`},
		"at its bound":  {key: "C#k", partitions: 1, begins: 4, want: `level=WARN msg="more write shards do not help: the table's partitions are the limit" key=<C#k> shards=4 partitions=1`},
	} {
		shards := newShards()
		shards.fails, shards.lead, shards.partitions = c.read, 4*time.Second, cmp.Or(c.partitions, 64)
		if c.change != nil {
			shards.between = func() { shards.fails = c.change }
		}
		p := newProcess(t, shards, Options{Observe: c.observe, Shown: func(key string) string { return "<" + key + ">" }})
		if c.begins > 0 {
			shards.set(c.key, c.begins, p.clock.Add(-time.Hour))
			p.view[c.key] = shards.entry(c.key)
		}
		p.clear = func(context.Context, int, int) error { return c.clear }
		p.storm(c.key, 300*time.Millisecond, shard.Throttled)
		line, _, _ := strings.Cut(p.log.String(), "\n")
		if _, got, _ := strings.Cut(line, " "); got != c.want || len(shards.changes) != c.changes {
			t.Errorf("%s: changes %v, and %q\nwant %q", name, shards.changes, got, c.want)
		}
	}
}

// TestEndedCallReadsNoMap checks that a call whose context has ended does not read the shard map.
func TestEndedCallReadsNoMap(t *testing.T) {
	shards := newShards()
	p := newProcess(t, shards, Options{})
	p.wait = func(context.Context) bool { return false }
	p.storm("C#k", time.Second, shard.Throttled)
	if shards.reads > 0 || len(shards.changes) > 0 {
		t.Errorf("%d reads, changes %v; want none", shards.reads, shards.changes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if waitRandomly(ctx) {
		t.Error("waitRandomly = true with an ended context")
	}
}

// TestObserveAndPins checks that a key does not grow if Observe is set, or if it is pinned.
func TestObserveAndPins(t *testing.T) {
	observed := newShards()
	w := newProcess(t, observed, Options{Observe: true})
	w.storm("C#k", 10*time.Second, shard.Throttled)
	if n := strings.Count(w.log.String(), "would grow"); len(observed.changes) > 0 || n == 0 || n > 6 {
		t.Errorf("changes %v with Observe, want none and 1 to 6 log lines; log:\n%s", observed.changes, w.log)
	}
	shards := newShards()
	shards.entries["C#pinned"] = shardmap.Entry{Version: 1, Pinned: true, History: shard.History{{Count: 3}}}
	p := newProcess(t, shards, Options{})
	p.storm("C#pinned", 10*time.Second, shard.Throttled)
	if len(shards.changes) > 0 || shards.reads > 2 {
		t.Errorf("a pinned key: changes %v, %d reads; want none and at most 2", shards.changes, shards.reads)
	}
}

// TestBoundIsLoggedOncePerMinute checks that a key at its bound is logged once a minute, without reads of the shard map.
func TestBoundIsLoggedOncePerMinute(t *testing.T) {
	shards := newShards()
	shards.partitions = 4
	p := newProcess(t, shards, Options{})
	shards.set("C#k", 16, p.clock.Add(-time.Hour))
	p.view["C#k"] = shards.entry("C#k")
	p.storm("C#k", 70*time.Second, shard.Throttled)
	want := `msg="more write shards do not help: the table's partitions are the limit" key=C#k shards=16 partitions=4`
	if got := p.log.String(); len(shards.changes) > 0 || shards.reads > 0 || strings.Count(got, want) != 2 {
		t.Errorf("changes %v, %d reads, want none and 2 log lines; log:\n%s", shards.changes, shards.reads, got)
	}
	shards.partitions = 8 // DynamoDB has split partitions
	p.storm("C#k", time.Second, shard.Throttled)
	if !slices.Equal(shards.changes, []int{32}) {
		t.Errorf("changes with 8 partitions: %v, want [32]", shards.changes)
	}
}

// TestMaxAndPartitionsBoundGrowth checks that a key grows to Max, or to four write shards for each of its table's
// partitions, and that the log says which.
func TestMaxAndPartitionsBoundGrowth(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want []int
		log  string
	}{
		{Options{Max: 10}, []int{10}, "the most that Max allows"},
		{Options{Partitions: func(table string) int { return map[string]int{"orders": 8}[table] }}, []int{24, 32}, "partitions are the limit"},
	} {
		shards := newShards()
		p := newProcess(t, shards, c.o)
		p.table = "orders"
		p.storm("clicks/k", 20*time.Second, shard.Throttled)
		if got := p.log.String(); !slices.Equal(shards.changes, c.want) || !strings.Contains(got, c.log) {
			t.Errorf("changes %v, want %v and %q; log:\n%s", shards.changes, c.want, c.log, got)
		}
	}
}

// TestOccupiedKeysPreventGrowth checks that a key does not grow to write shards whose keys have items, and that this is
// logged, also with Observe. The check begins above the key's highest count.
func TestOccupiedKeysPreventGrowth(t *testing.T) {
	for _, o := range []Options{{}, {Observe: true}} {
		shards := newShards()
		p := newProcess(t, shards, o)
		var asked [][2]int
		err := error(&shard.KeyError{Key: "k#SHARD_2"})
		p.clear = func(_ context.Context, from, to int) error { asked = append(asked, [2]int{from, to}); return err }
		p.storm("orders/k", 2*time.Second, shard.Throttled)
		if got := p.log.String(); len(shards.changes) > 0 || !strings.Contains(got, "not grown: items") || !strings.Contains(got, "key=orders/k shards=24 in_the_way=k#SHARD_2") || strings.Contains(got, "would grow") {
			t.Fatalf("changes %v over an occupied key, want none; log:\n%s", shards.changes, got)
		}
		err = errors.New("no answer")
		p.storm("orders/k", 5*time.Second, shard.Throttled)
		if got := p.log.String(); len(shards.changes) > 0 || !strings.Contains(got, "were not read") {
			t.Fatalf("changes %v without the check's answer, want none; log:\n%s", shards.changes, got)
		}
		for _, a := range asked {
			if a != [2]int{1, 24} {
				t.Errorf("checked write shards %v, want [1 24]", a)
			}
		}
		err = nil
		p.storm("orders/k", 10*time.Second, shard.Throttled)
		if grown := len(shards.changes) > 0; grown == o.Observe {
			t.Errorf("Observe %t: changes %v when the keys are free", o.Observe, shards.changes)
		}
	}
	shards := newShards()
	e := shards.entry("orders/k")
	e.Max = 30
	shards.entries["orders/k"] = e
	p := newProcess(t, shards, Options{})
	var asked [][2]int
	p.clear = func(_ context.Context, from, to int) error { asked = append(asked, [2]int{from, to}); return nil }
	p.storm("orders/k", 5*time.Second, shard.Throttled)
	if !slices.Equal(shards.changes, []int{24, 64, 256}) || !slices.Equal(asked, [][2]int{{30, 64}, {30, 256}}) {
		t.Errorf("with a highest count of 30: changes %v, checked %v; want [24 64 256], and checks from 30", shards.changes, asked)
	}
}

// TestItemsOfConcurrentGrowthAreNotLogged checks that items on write shards which another grower has just added cause no log
// line.
func TestItemsOfConcurrentGrowthAreNotLogged(t *testing.T) {
	shards := newShards()
	p := newProcess(t, shards, Options{})
	p.clear = func(context.Context, int, int) error {
		if len(shards.changes) == 0 {
			shards.changes = append(shards.changes, 24)
			shards.set("orders/k", 24, p.clock)
		}
		return &shard.KeyError{Key: "k#SHARD_2"}
	}
	p.storm("orders/k", 500*time.Millisecond, shard.Throttled)
	if got := p.log.String(); !slices.Equal(shards.changes, []int{24}) || got != "" {
		t.Errorf("changes %v, want only [24] of the other grower and no log:\n%s", shards.changes, got)
	}
}

// TestNewRejectsInvalidOptions checks that New rejects a missing shard map and a Max out of range.
func TestNewRejectsInvalidOptions(t *testing.T) {
	var none *shardmap.Changer
	for i, make := range []func() (*Grower, error){
		func() (*Grower, error) { return New(nil, Options{}) },
		func() (*Grower, error) { return New(none, Options{}) },
		func() (*Grower, error) { return New(newShards(), Options{Max: -1}) },
		func() (*Grower, error) { return New(newShards(), Options{Max: shard.MaxShards + 1}) },
	} {
		if g, err := make(); g != nil || !errors.Is(err, shard.ErrMisused) {
			t.Errorf("case %d: %v, error %v, want ErrMisused", i, g, err)
		}
	}
}

// TestZeroOptionsAreReady checks that a Grower with the zero Options grows a key, by the real clock.
func TestZeroOptionsAreReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shards := newShards()
		g, err := New(shards, Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for call := range uint64(10) {
			g.ObserveAttempt(t.Context(), shard.Attempt{Key: "C#k", Kind: string(schema.Counter), Call: call, Items: call, At: time.Now(), Outcome: shard.Throttled, Shards: 1})
			time.Sleep(100 * time.Millisecond)
		}
		if !slices.Equal(shards.changes, []int{4}) {
			t.Errorf("changes %v, want [4]", shards.changes)
		}
	})
}

// TestHopelessWithoutGrowth checks which attempts have no larger count in sight, so that a call waits only briefly.
func TestHopelessWithoutGrowth(t *testing.T) {
	for name, c := range map[string]struct {
		attempt    shard.Attempt
		observe    bool
		partitions int
		want       bool
	}{
		"it may grow":                {shard.Attempt{Kind: string(schema.Counter), Shards: 1}, false, 64, false},
		"pinned":                     {shard.Attempt{Kind: string(schema.Counter), Shards: 1, Pinned: true}, false, 64, true},
		"only observed":              {shard.Attempt{Kind: string(schema.Counter), Shards: 1}, true, 64, true},
		"the partitions are few":     {shard.Attempt{Kind: string(schema.Counter), Shards: 4}, false, 1, true},
		"an event with its own time": {shard.Attempt{Kind: string(schema.Event), Shards: 1}, false, 64, true},
		"a new event":                {shard.Attempt{Kind: string(schema.Event), Shards: 1, New: true}, false, 64, false},
	} {
		now := time.Unix(1_700_000_000, 0)
		shards := &fakeShards{entries: map[string]shardmap.Entry{}, partitions: c.partitions}
		g, err := New(shards, Options{Observe: c.observe, Logger: slog.New(slog.DiscardHandler), Partitions: shards.Partitions, Clock: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		g.wait = func(context.Context) bool { return true }
		c.attempt.Key, c.attempt.Outcome, c.attempt.At = "k", shard.Throttled, now
		for range 4 { // of one call, so that the key doesn't grow
			g.ObserveAttempt(t.Context(), c.attempt)
			now = now.Add(150 * time.Millisecond)
		}
		if got := g.Hopeless(c.attempt); got != c.want {
			t.Errorf("%s: hopeless %t after 0.6 s, want %t", name, got, c.want)
		}
	}
}
