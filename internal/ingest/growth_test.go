package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/limiter"
	"github.com/hotshard/hotshard/internal/base/busy"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
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

// process is a grower with a test clock, and a view of its own that only its own calls refresh.
type process struct {
	*grower
	t      *testing.T
	shards *fakeShards
	view   map[string]shardmap.Entry
	clock  time.Time
	waits  int
	said   *bytes.Buffer
	next   uint64
}

func newShards() *fakeShards {
	return &fakeShards{entries: map[string]shardmap.Entry{}, partitions: 64}
}

func newProcess(t *testing.T, shards *fakeShards, control growth.Control) *process {
	said := &bytes.Buffer{}
	p := &process{t: t, shards: shards, view: map[string]shardmap.Entry{}, clock: time.Unix(1_800_000_000, 0), said: said}
	p.grower = newGrower(Settings{Control: control, MetricNames: keyname.Plain}, shards, slog.New(slog.NewTextHandler(said, nil)))
	p.now = func() time.Time { return p.clock }
	p.wait = func(context.Context) bool { p.waits++; return true }
	return p
}

// write makes a request of one attempt, by the view as it is.
func (p *process) write(key string, outcome shard.Outcome) {
	p.next++
	e := p.view[key]
	base, _ := schema.ParseBaseKey(key)
	p.ObserveAttempt(p.t.Context(), shard.Attempt{
		Key: key, Kind: string(base.Type), Shard: int(p.next) % e.History.Newest(), Call: p.next, Items: p.next, At: p.clock, Outcome: outcome,
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
	} {
		shards := newShards()
		p := newProcess(t, shards, growth.Act)
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

// TestAnEventsCountIsNotAnsweredBeforeItIsInForce checks that an entity does not grow again before its change takes
// effect.
func TestAnEventsCountIsNotAnsweredBeforeItIsInForce(t *testing.T) {
	shards := newShards()
	shards.lead = 5 * time.Second
	p := newProcess(t, shards, growth.Act)
	p.storm("E#hot", 5*time.Second, shard.Throttled)
	if !slices.Equal(shards.changes, []int{24}) {
		t.Errorf("before the change is in force: %v", shards.changes)
	}
	p.storm("E#hot", 2*time.Second, shard.Throttled)
	if !slices.Equal(shards.changes, []int{24, 64}) {
		t.Errorf("after: %v", shards.changes)
	}
}

// TestABoardGrowsOnceAMinute checks the pause: a board's entries move only with their next writes.
func TestABoardGrowsOnceAMinute(t *testing.T) {
	shards := newShards()
	p := newProcess(t, shards, growth.Act)
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
		newProcess(t, shards, growth.Act).storm(key, time.Second, shard.Conflicted)
		if got := shards.entry(key).History.Newest(); got != want {
			t.Errorf("%s: %d, want %d", key, got, want)
		}
	}
}

// TestWhoComesLaterAdopts checks that a process adopts a change that another made before its request, or during it.
// question and its answer.
func TestWhoComesLaterAdopts(t *testing.T) {
	shards := newShards()
	p := newProcess(t, shards, growth.Act)
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
	q := newProcess(t, other, growth.Act)
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
	p := newProcess(t, shards, growth.Act)
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
	p := newProcess(t, shards, growth.Act)
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

func TestControlAndPins(t *testing.T) {
	for control, want := range map[growth.Control]string{growth.Observe: "would grow", growth.Off: ""} {
		shards := newShards()
		p := newProcess(t, shards, control)
		p.storm("C#k", 10*time.Second, shard.Throttled)
		if got := p.said.String(); len(shards.changes) > 0 || want == "" && got != "" || strings.Count(got, want) > 6 || !strings.Contains(got, want) {
			t.Errorf("%s: %v; log:\n%s", control, shards.changes, got)
		}
	}
	shards := newShards()
	shards.entries["C#pinned"] = shardmap.Entry{Version: 1, Pinned: true, History: shard.History{{Count: 3}}}
	p := newProcess(t, shards, growth.Act)
	p.storm("C#pinned", 10*time.Second, shard.Throttled)
	if len(shards.changes) > 0 || shards.reads > 2 {
		t.Errorf("a pinned key: %v, %d reads", shards.changes, shards.reads)
	}
}

// TestTheBoundIsSaid checks that the bound is logged once a minute and key, without reading the shard map.
func TestTheBoundIsSaid(t *testing.T) {
	shards := newShards()
	shards.partitions = 4
	p := newProcess(t, shards, growth.Act)
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

// TestHiddenNames checks that log lines name keys as the setting says.
func TestHiddenNames(t *testing.T) {
	for names, want := range map[keyname.Style]string{keyname.Plain: "key=C#secret ", keyname.Hashed: "key=" + keyname.Pseudonym("C#secret") + " ", keyname.Unnamed: `key="" `} {
		shards := newShards()
		shards.partitions = 1
		p := newProcess(t, shards, growth.Act)
		p.names = names
		p.storm("C#secret", 3*time.Second, shard.Throttled)
		got := p.said.String()
		if !strings.Contains(got, "msg=grown "+want) || !strings.Contains(got, "are the limit\" "+want) || names != keyname.Plain && strings.Contains(got, "secret") {
			t.Errorf("%s: log:\n%s", names, got)
		}
	}
}

// crowded is a client that rejects writes to a counter's first write shard: as throttled, or as in conflict with other
// transactions.
type crowded struct {
	*dynamodb.Client
	pk string
}

func (c *crowded) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if textOf(in.Key["pk"]) == c.pk {
		return nil, errHotKey
	}
	return c.Client.UpdateItem(ctx, in, o...)
}

func (c *crowded) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	reasons := make([]types.CancellationReason, len(in.TransactItems))
	met := false
	for i, action := range in.TransactItems {
		reasons[i].Code = aws.String("None")
		if action.Update != nil && textOf(action.Update.Key["pk"]) == c.pk {
			reasons[i].Code, met = aws.String("TransactionConflict"), true
		}
	}
	if met {
		return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
	}
	return c.Client.TransactWriteItems(ctx, in, o...)
}

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// TestARequestGoesOnByTheNewCount calls a counter whose only write shard is full or in conflict. Two calls are
// rejected; the third raises the count, and is accepted itself.
func TestARequestGoesOnByTheNewCount(t *testing.T) {
	for name, header := range map[string][]string{"full": nil, "in conflict": {"Idempotency-Key"}} {
		r := newRig(t)
		r.use(&crowded{r.client, "C#hot#0"})
		r.service.settings.Deadline = 200 * time.Millisecond
		var statuses []int
		for i := range 3 {
			if i == 2 {
				r.service.settings.Deadline = 10 * time.Second // for a busy machine
			}
			var key []string
			if header != nil {
				key = []string{header[0], fmt.Sprint("k", i)}
			}
			statuses = append(statuses, r.post("/v1/counters", `{"increments":[{"counter":"hot","delta":1}]}`, key...).status)
		}
		if !slices.Equal(statuses, []int{429, 429, http.StatusOK}) || !strings.Contains(r.log.String(), "msg=grown key=C#hot shards=4") || r.sum("hot") != "1" {
			t.Errorf("%s: %v, the sum is %s; log:\n%s", name, statuses, r.sum("hot"), r.log)
		}
	}
}

// TestRepeatsUnderOneKeyGrowNothing sends 10 keyed increments, 40 in the long run, each 30 times at once,
// while a transaction holds its items for 5 ms. They are one request after the other, and no load.
func TestRepeatsUnderOneKeyGrowNothing(t *testing.T) {
	r := newRig(t)
	limits, err := limiter.New(limiter.Options{Partitions: 4, PartitionWCU: 100_000, TransactionHold: 5 * time.Millisecond, Base: dynamolocal.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	r.use(dynamodb.New(r.client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} }))
	increments := lane.Runs(10, 40)
	for i := range increments {
		var senders sync.WaitGroup
		for range 30 {
			senders.Go(func() {
				if got := r.post("/v1/counters", `{"increments":[{"counter":"a","delta":1}]}`, "Idempotency-Key", fmt.Sprint(i)); got.status != http.StatusOK {
					t.Errorf("%d %s", got.status, got.body)
				}
			})
		}
		senders.Wait()
	}
	if entry, err := r.shardMap().Refresh(t.Context(), "C#a", enginetest.Later); err != nil || entry.Version != 0 || r.sum("a") != fmt.Sprint(increments) {
		t.Errorf("%+v, %v; the sum is %s", entry, err, r.sum("a"))
	}
	var met int64
	for _, o := range limits.Stats().Operations {
		met += o.Conflicts
	}
	if met == 0 {
		t.Error("no transaction met another")
	}
}

// TestARefusedRequestLearnsOfOthersGrowth checks that a throttled request refreshes its view, even if it is the first
// of its process and the view is young.
func TestARefusedRequestLearnsOfOthersGrowth(t *testing.T) {
	r := newRig(t)
	r.use(&crowded{r.client, "C#hot#0"}, func(s *Settings) { s.ViewAge, s.Deadline = shardmap.MaxViewAge, 4*time.Second })
	if a := r.post("/v1/counters", `{"increments":[{"counter":"other","delta":1}]}`); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body) // now it has a view
	}
	if _, err := r.shardMap().GrowFrom(t.Context(), shardmap.Entry{Key: "C#hot"}, 4, shardmap.Note{By: "another"}, enginetest.Later); err != nil {
		t.Fatal(err)
	}
	if a := r.post("/v1/counters", `{"increments":[{"counter":"hot","delta":1}]}`); a.status != http.StatusOK {
		t.Errorf("%d %s; log:\n%s", a.status, a.body, r.log)
	}
}

// TestTheShardMapAsAGrowerNeedsIt checks the assumptions of fakeShards on the real shard map.
func TestTheShardMapAsAGrowerNeedsIt(t *testing.T) {
	r := newRig(t)
	one, two := r.shardMap(), r.shardMap()
	now, ctx := enginetest.Later, t.Context()
	seen, err := one.Refresh(ctx, "C#k", now)
	if err != nil || seen.Version != 0 || seen.Key != "C#k" {
		t.Fatalf("a key that is not there: %+v, %v", seen, err)
	}
	grown, err := one.GrowFrom(ctx, seen, 4, shardmap.Note{By: "test"}, now)
	if err != nil || grown.Version != 1 || grown.History.Newest() != 4 {
		t.Fatalf("%+v, %v", grown, err)
	}
	if lost, err := two.GrowFrom(ctx, seen, 4, shardmap.Note{By: "test"}, now); !errors.Is(err, shardmap.ErrNoChange) || lost.Version != 1 {
		t.Errorf("who comes later: %+v, %v", lost, err)
	}
	if again, err := two.Refresh(ctx, "C#k", now); err != nil || again.Version != 1 {
		t.Errorf("what the winner wrote: %+v, %v", again, err)
	}
	if n := one.Partitions(kind.Items); n != shardmap.FewPartitions {
		t.Errorf("%d partitions without a note", n)
	}
}

func (r *rig) shardMap() shardMap {
	changer := shardmap.NewChanger(r.client, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{})
	busy.AnyTime(changer)
	return changer
}
