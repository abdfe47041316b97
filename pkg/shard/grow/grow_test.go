package grow

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// fakeShards is a shard map in memory.
type fakeShards struct {
	entries    map[string]shardmap.Entry
	partitions int
	lead       time.Duration
	refused    error  // error of the next calls
	between    func() // called between the read of an entry and its change
	reads      int
	changes    []int // counts
}

func (f *fakeShards) Refresh(_ context.Context, key string, _ time.Time) (shardmap.Entry, error) {
	f.reads++
	return f.entry(key), f.refused
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
	if f.refused != nil {
		return seen, f.refused
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

// process is a Grower with a test clock, and a view of its own that only its own calls refresh.
type process struct {
	*Grower
	t      *testing.T
	shards *fakeShards
	view   map[string]shardmap.Entry
	clock  time.Time
	waits  int
	said   *bytes.Buffer
	table  string
	clear  func(ctx context.Context, from, to int) error
	next   uint64
}

func newShards() *fakeShards {
	return &fakeShards{entries: map[string]shardmap.Entry{}, partitions: 64}
}

func newProcess(t *testing.T, shards *fakeShards, o Options) *process {
	p := &process{t: t, shards: shards, view: map[string]shardmap.Entry{}, clock: time.Unix(1_800_000_000, 0), said: &bytes.Buffer{}}
	o.Clock, o.Logger = func() time.Time { return p.clock }, slog.New(slog.NewTextHandler(p.said, nil))
	var err error
	if p.Grower, err = New(shards, o); err != nil {
		t.Fatal(err)
	}
	p.wait = func(context.Context) bool { p.waits++; return true }
	return p
}

// write makes a request of one attempt, by the view as it is.
func (p *process) write(key string, outcome shard.Outcome) {
	p.next++
	e := p.view[key]
	k, _, _ := kind.Cut(key)
	switch {
	case strings.HasPrefix(key, "clicks/"):
		k = kind.OwnRandom
	case strings.HasPrefix(key, "orders/"):
		k = kind.OwnTimed
	}
	p.ObserveAttempt(p.t.Context(), shard.Attempt{
		Key: key, Kind: string(k), Shard: int(p.next) % e.History.Newest(), Table: p.table, Clear: p.clear, Call: p.next, Items: p.next, At: p.clock, Outcome: outcome,
		Version: e.Version, Shards: e.History.Newest(), Effective: e.Effective(), Changed: e.Updated, Pinned: e.Pinned,
	})
}

// storm makes requests that are all refused, ten a second. Changes are in the view a
// second after they were made.
func (p *process) storm(key string, lasting time.Duration, outcome shard.Outcome) {
	for n := range int(lasting / (100 * time.Millisecond)) {
		p.clock = p.clock.Add(100 * time.Millisecond)
		p.write(key, outcome)
		if n%10 == 9 {
			p.view[key] = p.shards.entry(key)
		}
	}
}

func TestRefusalsGrowAKey(t *testing.T) {
	for key, want := range map[string][]int{
		"C#hot": {4, 16, 64, 256}, "R#hot": {4, 16, 64, 256}, // up to four times the partitions
		"E#hot": {24, 64, 256}, "S#hot": {24}, "L#hot": {24}, "nobody's": nil,
		"clicks/hot": {24, 64, 256}, "orders/hot": {24, 64, 256},
	} {
		shards := newShards()
		p := newProcess(t, shards, Options{})
		p.storm(key, 20*time.Second, shard.Throttled)
		looks := shards.reads - len(shards.changes)
		if key[0] != 'C' && looks > 0 || key[0] == 'C' && looks != len(shards.changes) {
			t.Errorf("%s: looked %d times", key, looks)
		}
		if !slices.Equal(shards.changes, want) || p.waits != shards.reads || len(want) > 0 && !strings.Contains(p.said.String(), "msg=grown key="+key) {
			t.Errorf("%s: %v, want %v; %d waits, %d reads; log:\n%s", key, shards.changes, want, p.waits, shards.reads, p.said)
		}
	}
}

// TestACountIsNotAnsweredBeforeItIsInForce checks that a key whose changes take effect after the lead
// does not grow again before.
func TestACountIsNotAnsweredBeforeItIsInForce(t *testing.T) {
	for key, want := range map[string][]int{"E#hot": {24, 64}, "orders/hot": {24, 64}, "clicks/hot": {24, 64}} {
		shards := newShards()
		shards.lead = 5 * time.Second
		p := newProcess(t, shards, Options{})
		p.storm(key, 5*time.Second, shard.Throttled)
		if !slices.Equal(shards.changes, want[:1]) {
			t.Errorf("%s: before the change is in force: %v", key, shards.changes)
		}
		p.storm(key, 2*time.Second, shard.Throttled)
		if !slices.Equal(shards.changes, want) {
			t.Errorf("%s: after: %v", key, shards.changes)
		}
	}
}

// TestABoardGrowsOnceAMinute checks the pause: a board's entries move only with their next writes.
func TestABoardGrowsOnceAMinute(t *testing.T) {
	shards := newShards()
	p := newProcess(t, shards, Options{})
	p.storm("L#hot", 59*time.Second, shard.Throttled)
	if !slices.Equal(shards.changes, []int{24}) {
		t.Errorf("within a minute: %v", shards.changes)
	}
	p.storm("L#hot", 10*time.Second, shard.Throttled)
	if !slices.Equal(shards.changes, []int{24, 64}) {
		t.Errorf("then: %v", shards.changes)
	}
}

// TestConflicts checks that conflicts count for counters and limits only. Other items conflict with their own writers
// on any write shard.
// writers, wherever it lies.
func TestConflicts(t *testing.T) {
	for key, want := range map[string]int{"C#k": 4, "R#k": 4, "E#k": 1, "S#k": 1, "L#k": 1} {
		shards := newShards()
		newProcess(t, shards, Options{}).storm(key, time.Second, shard.Conflicted)
		if got := shards.entry(key).History.Newest(); got != want {
			t.Errorf("%s: %d, want %d", key, got, want)
		}
	}
}

// TestWhoComesLaterAdopts checks that a process adopts a change that another made before its request, or during it.
// question and its answer.
func TestWhoComesLaterAdopts(t *testing.T) {
	shards := newShards()
	p := newProcess(t, shards, Options{})
	shards.set("C#k", 4, p.clock)
	p.storm("C#k", 300*time.Millisecond, shard.Throttled)
	if len(shards.changes) > 0 || shards.reads != 2 { // once to look, once to change it
		t.Fatalf("it changed what was changed: %v, %d reads", shards.changes, shards.reads)
	}
	p.storm("C#k", 5*time.Second, shard.Throttled) // by the view of before, at first
	if !slices.Equal(shards.changes, []int{16, 64, 256}) {
		t.Fatalf("by the count that it adopted: %v", shards.changes)
	}
	other := newShards()
	q := newProcess(t, other, Options{})
	other.between = func() { other.set("C#k", 16, q.clock); other.between = nil }
	q.storm("C#k", 300*time.Millisecond, shard.Throttled)
	if len(other.changes) > 0 || q.said.Len() > 0 {
		t.Fatalf("it lost, and changed %v: %s", other.changes, q.said)
	}
	q.view["C#k"] = other.entry("C#k")
	q.storm("C#k", 600*time.Millisecond, shard.Throttled)
	if !slices.Equal(other.changes, []int{64}) {
		t.Errorf("by what the winner wrote: %v", other.changes)
	}
}

// TestAThrottledMap checks that a throttled shard map keeps the count, and is retried with a growing pause.
func TestAThrottledMap(t *testing.T) {
	shards := newShards()
	shards.refused = shard.ErrUnavailable
	p := newProcess(t, shards, Options{})
	p.storm("C#k", 10*time.Second, shard.Throttled)
	if len(shards.changes) > 0 || shards.reads < 4 || shards.reads > 6 || !strings.Contains(p.said.String(), "shard count not read") {
		t.Errorf("%v, %d reads; log:\n%s", shards.changes, shards.reads, p.said)
	}
	shards.refused = nil
	p.storm("C#k", 6*time.Second, shard.Throttled)
	if len(shards.changes) == 0 || shards.changes[0] != 4 {
		t.Errorf("afterwards: %v", shards.changes)
	}
}

// TestACallThatEndsAsksNothing checks that a call whose context has ended does not read the shard map.
func TestACallThatEndsAsksNothing(t *testing.T) {
	shards := newShards()
	p := newProcess(t, shards, Options{})
	p.wait = func(context.Context) bool { return false }
	p.storm("C#k", time.Second, shard.Throttled)
	if shards.reads > 0 || len(shards.changes) > 0 {
		t.Errorf("%d reads, %v", shards.reads, shards.changes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if waitAWhile(ctx) {
		t.Error("it waited beyond its context's end")
	}
}

func TestObserveAndPins(t *testing.T) {
	watched := newShards()
	w := newProcess(t, watched, Options{Observe: true})
	w.storm("C#k", 10*time.Second, shard.Throttled)
	if n := strings.Count(w.said.String(), "would grow"); len(watched.changes) > 0 || n == 0 || n > 6 {
		t.Errorf("%v; log:\n%s", watched.changes, w.said)
	}
	shards := newShards()
	shards.entries["C#pinned"] = shardmap.Entry{Version: 1, Pinned: true, History: shard.History{{Count: 3}}}
	p := newProcess(t, shards, Options{})
	p.storm("C#pinned", 10*time.Second, shard.Throttled)
	if len(shards.changes) > 0 || shards.reads > 2 {
		t.Errorf("a pinned key: %v, %d reads", shards.changes, shards.reads)
	}
}

// TestTheBoundIsSaid checks that the bound is logged once a minute and key, without reading the shard map.
func TestTheBoundIsSaid(t *testing.T) {
	shards := newShards()
	shards.partitions = 4
	p := newProcess(t, shards, Options{})
	shards.set("C#k", 16, p.clock.Add(-time.Hour))
	p.view["C#k"] = shards.entry("C#k")
	p.storm("C#k", 70*time.Second, shard.Throttled)
	want := `msg="more write shards do not help: the table's partitions are the limit" key=C#k shards=16 partitions=4`
	if got := p.said.String(); len(shards.changes) > 0 || shards.reads > 0 || strings.Count(got, want) != 2 {
		t.Errorf("%v, %d reads; log:\n%s", shards.changes, shards.reads, got)
	}
	shards.partitions = 8 // DynamoDB has split some
	p.storm("C#k", time.Second, shard.Throttled)
	if !slices.Equal(shards.changes, []int{32}) {
		t.Errorf("with more partitions: %v", shards.changes)
	}
}

// TestMaxAndPartitions checks that a key grows to Max, or to four write shards for each of its own
// table's partitions, and that the log tells them apart.
func TestMaxAndPartitions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want []int
		said string
	}{
		{Options{Max: 10}, []int{10}, "the most that Max allows"},
		{Options{Partitions: func(table string) int { return map[string]int{"orders": 8}[table] }}, []int{24, 32}, "partitions are the limit"},
	} {
		shards := newShards()
		p := newProcess(t, shards, c.o)
		p.table = "orders"
		p.storm("clicks/k", 20*time.Second, shard.Throttled)
		if got := p.said.String(); !slices.Equal(shards.changes, c.want) || !strings.Contains(got, c.said) {
			t.Errorf("%v, want %v and %q; log:\n%s", shards.changes, c.want, c.said, got)
		}
	}
}

// TestTakenKeysRefuseAGrowth checks that a growth to write shards whose keys have items is refused and logged, also
// if it would only be logged, and that the check begins above the most that the key ever had.
func TestTakenKeysRefuseAGrowth(t *testing.T) {
	for _, o := range []Options{{}, {Observe: true}} {
		shards := newShards()
		p := newProcess(t, shards, o)
		var asked [][2]int
		err := error(&shard.KeyError{Key: "k#SHARD_2"})
		p.clear = func(_ context.Context, from, to int) error { asked = append(asked, [2]int{from, to}); return err }
		p.storm("orders/k", 2*time.Second, shard.Throttled)
		if got := p.said.String(); len(shards.changes) > 0 || !strings.Contains(got, "growth refused") || !strings.Contains(got, "key=orders/k shards=24 in_the_way=k#SHARD_2") || strings.Contains(got, "would grow") {
			t.Fatalf("%v; log:\n%s", shards.changes, got)
		}
		err = errors.New("no answer")
		p.storm("orders/k", 5*time.Second, shard.Throttled)
		if got := p.said.String(); len(shards.changes) > 0 || !strings.Contains(got, "were not read") {
			t.Fatalf("%v; log:\n%s", shards.changes, got)
		}
		for _, a := range asked {
			if a != [2]int{1, 24} {
				t.Errorf("asked about %v", a)
			}
		}
		err = nil
		p.storm("orders/k", 10*time.Second, shard.Throttled)
		if grown := len(shards.changes) > 0; grown == o.Observe {
			t.Errorf("once they are free: %v", shards.changes)
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
		t.Errorf("of 30 write shards: %v, asked about %v", shards.changes, asked)
	}
}

// TestAnotherGrowersItemsAreNotInTheWay checks two growers: the items that one finds on the write shards that the
// other has just added refuse nothing.
func TestAnotherGrowersItemsAreNotInTheWay(t *testing.T) {
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
	if got := p.said.String(); !slices.Equal(shards.changes, []int{24}) || got != "" {
		t.Errorf("%v; log:\n%s", shards.changes, got)
	}
}

// TestNewIsMisused checks the errors of New.
func TestNewIsMisused(t *testing.T) {
	var none *shardmap.Changer
	for i, make := range []func() (*Grower, error){
		func() (*Grower, error) { return New(nil, Options{}) },
		func() (*Grower, error) { return New(none, Options{}) },
		func() (*Grower, error) { return New(newShards(), Options{Max: -1}) },
		func() (*Grower, error) { return New(newShards(), Options{Max: shard.MaxShards + 1}) },
	} {
		if g, err := make(); g != nil || !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%d: %v, %v", i, g, err)
		}
	}
}

// TestShown checks that log lines name keys as the option says.
func TestShown(t *testing.T) {
	shards := newShards()
	shards.partitions = 1
	p := newProcess(t, shards, Options{Shown: func(string) string { return "hidden" }})
	p.storm("C#secret", 3*time.Second, shard.Throttled)
	if got := p.said.String(); !strings.Contains(got, "msg=grown key=hidden ") || !strings.Contains(got, "are the limit\" key=hidden ") || strings.Contains(got, "secret") {
		t.Errorf("log:\n%s", got)
	}
}
