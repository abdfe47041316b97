package shardmap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
)

// world simulates many processes with views of one shard map. Clocks differ by up to a second, and
// commits take up to a second. Processes freeze, restart, load during changes and die in a transaction.
// Partitions are throttled for a while, and TTL removes expired items at once.
type world struct {
	strictMap
	times mapTimes
	lead  time.Duration
	bound time.Duration

	lateTaken bool // a snapshot has the time at which it was stored, not at which its keys were read
	oneLog    bool // a change is in the first log only
	anew      bool // processes begin anew in each period
	ownOnly   bool // no other key is changed or read

	freezing int // of a thousand ways of a call, in which the process is frozen

	mu       sync.Mutex
	random   *rand.Rand
	truth    map[string][]state // what keys were, in the order of commits
	observed []observed
	fault    error     // the first
	full     string    // a partition that refuses reads
	until    time.Time // so long
}

// state is a key's entry from a time on.
type state struct {
	at      time.Time
	version int64
	newest  int
	gone    bool
	history shard.History
	voided  int64 // how often its version was raised
}

// voids reports whether the state differs from that of a version by voids only, which no log has.
func (s state) voids(version int64) bool {
	return s.version-s.voided <= version && version <= s.version
}

// observed is a count that a process used for a time.
type observed struct {
	key   string
	t     time.Time
	count int
	when  time.Time
}

func newWorld(seed uint64) *world {
	return &world{
		strictMap: strictMap{mapfake.New(3, 0, 0)}, times: soundTimes, lead: LeadTime, bound: CommitTime, freezing: 6,
		random: rand.New(rand.NewPCG(seed, 7)), truth: map[string][]state{},
	}
}

func (w *world) chance(percent int) bool { return w.below(100) < percent }

func (w *world) below(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

func (w *world) within(low, high time.Duration) time.Duration {
	return low + time.Duration(w.below(int(high-low)+1))
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault == nil {
		w.fault = err
	}
}

// linger waits for one way of a call. A process that is frozen meanwhile misses its deadline.
func (w *world) linger(ctx context.Context) error {
	d := w.within(0, 20*time.Millisecond)
	switch n := w.below(1000); {
	case n < w.freezing:
		time.Sleep(w.within(time.Second, 3*time.Hour))
		return nil
	case n < 200:
		d = w.within(0, 900*time.Millisecond)
	}
	return w.Wait(ctx, d)
}

// expire removes expired items. The caller holds the fake's mu.
func (w *world) expire() {
	for at, it := range w.Items {
		if end, err := dynamo.Integer(it, schema.ExpiresAt); err == nil && end > 0 && end <= time.Now().Unix() {
			delete(w.Items, at)
		}
	}
}

func (w *world) read(ctx context.Context, read func() error) error {
	if err := w.linger(ctx); err != nil {
		return err
	}
	w.Table.Mu.Lock()
	w.expire()
	w.Table.Mu.Unlock()
	if err := read(); err != nil {
		return err
	}
	return w.linger(ctx)
}

func (w *world) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.GetItemOutput, err error) {
	err = w.read(ctx, func() (err error) { out, err = w.Table.GetItem(context.Background(), in, o...); return err })
	return out, err
}

func (w *world) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (out *dynamodb.QueryOutput, err error) {
	err = w.read(ctx, func() (err error) {
		if w.refuses(dynamo.Text(in.ExpressionAttributeValues, ":part")) {
			return &types.ProvisionedThroughputExceededException{}
		}
		out, err = w.Table.Query(context.Background(), in, o...)
		return err
	})
	return out, err
}

// PutItem voids a change, or stores an item of a snapshot. The writer may die, so that the snapshot is torn.
func (w *world) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	if in.ConditionExpression != nil {
		return w.void(ctx, in, o...)
	}
	if w.lateTaken {
		in.Item[attrTaken] = seconds(time.Now())
	}
	if w.chance(2) {
		return nil, errDied
	}
	err = w.read(ctx, func() (err error) { out, err = w.Table.PutItem(context.Background(), in, o...); return err })
	return out, err
}

// fill throttles reads of some keys for a while, so that loads end late.
func (w *world) fill() {
	part, until := schema.MapPart(w.below(schema.MapParts)), time.Now().Add(w.within(0, 20*time.Second))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full, w.until = part, until
}

func (w *world) refuses(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return part == w.full && time.Now().Before(w.until)
}

var errDied = errors.New("it died in its call")

// TransactWriteItems commits within a second, and not after the caller's deadline, which
// may be the moment at which it commits.
func (w *world) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := w.Wait(ctx, w.within(0, 950*time.Millisecond)); err != nil && w.chance(50) {
		return nil, err
	}
	if w.chance(5) {
		return nil, errDied // and nothing was written
	}
	if err := w.commit(in); err != nil {
		return nil, err
	}
	if w.chance(5) {
		return nil, errDied
	}
	return &dynamodb.TransactWriteItemsOutput{}, ctx.Err()
}

// void raises the version of a key's item.
func (w *world) void(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := w.linger(ctx); err != nil {
		return nil, err
	}
	out, err := w.Table.PutItem(context.Background(), in, o...)
	if err == nil {
		w.mu.Lock()
		key := dynamo.Text(in.Item, schema.SK)
		voided := state{at: time.Now()}
		if states := w.truth[key]; len(states) > 0 {
			voided = states[len(states)-1]
		} else {
			voided.newest = 1
		}
		voided.version, voided.voided, voided.at = voided.version+1, voided.voided+1, time.Now()
		w.truth[key] = append(w.truth[key], voided)
		w.mu.Unlock()
	}
	return out, err
}

func (w *world) commit(in *dynamodb.TransactWriteItemsInput) error {
	w.Table.Mu.Lock()
	defer w.Table.Mu.Unlock()
	w.expire()
	put := in.TransactItems[0].Put
	if !holds(put, w.Items[mapfake.Slot(put.Item)]) {
		return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("ConditionalCheckFailed")}}}
	}
	actions := in.TransactItems
	if w.oneLog {
		actions = actions[:2]
	}
	for _, action := range actions {
		w.Put(action.Put.Item)
	}
	e := readEntry(dynamo.Text(put.Item, schema.SK), put.Item)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.truth[e.Key] = append(w.truth[e.Key], state{time.Now(), e.Version, e.History.Newest(), e.gone, e.History, 0})
	return nil
}

// process is a process with a view.
type process struct {
	*world
	skew    time.Duration
	changer *Changer
}

func (w *world) process() *process {
	p := &process{world: w, skew: w.within(-Clocks/2, Clocks/2)}
	p.begin()
	return p
}

// begin gives the process an empty view.
func (p *process) begin() {
	view := New(p.world, "m", Options{})
	view.times, view.log = p.times, schema.MapLog(p.below(schema.MapLogs))
	p.changer = NewChanger(p.world, view, ChangerOptions{Clock: func() time.Time { return time.Now().Add(p.skew) }})
	p.changer.lead, p.changer.bound = p.lead, p.bound
}

// kept are keys that are never deleted, whose counts are agreed on for all times. Times of the own name are not ahead.
var kept = []string{"E#a", "E#b", ownName}

const (
	deletable = "C#d"
	ownName   = "orders/acme"
)

// noteOf returns the note of a key's changes.
func noteOf(key string) Note {
	if key == ownName {
		return Note{Kind: string(kind.OwnRandom)}
	}
	return Note{}
}

func (p *process) step() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	key := append(kept, deletable)[p.below(4)]
	if p.ownOnly {
		key = ownName
	}
	switch now := time.Now().Add(p.skew); p.below(20) {
	case 0:
		p.begin()
	case 1, 2:
		_, _ = p.changer.Pin(ctx, key, 1+p.below(60), noteOf(key), now) // refusals and losses are right here
	case 3:
		if seen, err := p.changer.Lookup(ctx, key, now); err == nil {
			_, _ = p.changer.GrowFrom(ctx, seen, 1+p.below(60), noteOf(key), time.Now().Add(p.skew))
		}
	case 4:
		_, _ = p.changer.Reset(ctx, deletable, now)
		_ = p.changer.Forget(ctx, deletable, time.Now().Add(p.skew))
	case 5:
		_, _ = p.changer.Refresh(ctx, key, now)
	case 6:
		_ = p.changer.StoreSnapshot(context.WithoutCancel(ctx), now) // without one, starts read all keys
	default:
		p.lookUp(ctx, key, now)
	}
}

// lookUp looks up a key in the process, and checks that the result has all changes older than the view's
// age.
func (p *process) lookUp(ctx context.Context, key string, now time.Time) {
	begun := time.Now()
	e, err := p.changer.Lookup(ctx, key, now)
	if err != nil {
		return // it knows that it does not know
	}
	p.mu.Lock()
	states := p.truth[key]
	p.mu.Unlock()
	must := 0 // so many states are over, but for the last of them
	for must < len(states) && begun.Sub(states[must].at) > ViewAge {
		must++
	}
	known := must == 0 && len(e.History) == 0 || slices.ContainsFunc(states[max(0, must-1):], func(s state) bool {
		return s.newest == e.History.Newest() && (s.version == e.Version || s.voids(e.Version) || s.gone && e.Max <= 1)
	})
	if !known {
		p.fail(fmt.Errorf("at %v %s has version %d and %d write shards in a view: states %+v, of which %d are old", begun, key, e.Version, e.History.Newest(), states, must))
	}
	ahead := MaxAhead
	if key == ownName {
		ahead = 0
	}
	for _, t := range []time.Time{now, now.Add(ahead), now.Add(-p.within(0, time.Minute))} {
		p.mu.Lock()
		p.observed = append(p.observed, observed{key, t, e.History.At(t), begun})
		p.mu.Unlock()
	}
}

// run simulates periods in which processes are busy together. All are frozen in between, and some also
// during a period.
func (w *world) run() error {
	var processes []*process
	for range 6 {
		processes = append(processes, w.process())
	}
	for range 6 {
		longest := []time.Duration{5 * time.Second, 40 * time.Minute, 3 * time.Hour, 26 * time.Hour}[w.below(4)]
		time.Sleep(w.within(time.Second, longest))
		w.fill()
		var group sync.WaitGroup
		for _, p := range processes {
			if w.chance(30) {
				continue
			}
			if w.anew {
				p.begin()
			}
			group.Go(func() {
				for range 25 {
					time.Sleep(p.within(0, 1200*time.Millisecond))
					p.step()
				}
			})
		}
		group.Wait()
	}
	return w.verdict()
}

// verdict compares all counts that processes used with the table.
func (w *world) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault != nil {
		return w.fault
	}
	for _, o := range w.observed {
		states := w.truth[o.key]
		if len(states) == 0 || o.key == deletable {
			continue
		}
		if n := states[len(states)-1].history.At(o.t); n != o.count {
			return fmt.Errorf("%s: at %v a process went by %d write shards for %v, and it is %d", o.key, o.when, o.count, o.t, n)
		}
	}
	return nil
}

// playWorld runs a seed's world after change was applied to it.
func playWorld(t *testing.T, seed uint64, change func(*world)) (err error) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(seed)
		change(w)
		err = w.run()
		time.Sleep(24 * time.Hour) // whoever is frozen yet
	})
	return err
}

// TestNoViewMissesAChange checks I6, and that all processes agree on N(t) before t (I7).
func TestNoViewMissesAChange(t *testing.T) {
	first := uint64(time.Now().UnixNano())
	seeds := uint64(lane.Runs(20, 40))
	t.Logf("seeds %d and the %d after it", first, seeds-1)
	for seed := first; seed < first+seeds; seed++ {
		if err := playWorld(t, seed, func(*world) {}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestEachRuleIsNeeded removes each rule that keeps a view from missing a change, and wants a failure.
func TestEachRuleIsNeeded(t *testing.T) {
	const never = 10_000 * time.Hour
	for name, without := range map[string]func(*world){
		"a start uses no snapshot of long ago":            func(w *world) { w.times.reload, w.anew = never, true },
		"a snapshot is as of before its keys were read":   func(w *world) { w.lateTaken, w.freezing = true, 30 },
		"each log has each change":                        func(w *world) { w.oneLog = true },
		"a poll reads the log from before the last one":   func(w *world) { w.times.overlap = 0 },
		"a load reads the log from before its begin":      func(w *world) { w.times.loadBack = 0 },
		"a view of long ago is loaded anew":               func(w *world) { w.times.reload = never },
		"a change that is not committed soon is given up": func(w *world) { w.bound, w.freezing = never, 50 },
		"a change comes into force after all know of it":  func(w *world) { w.lead = 2 * time.Second },
		"so does a random suffix's, MaxAhead earlier":     func(w *world) { w.lead, w.ownOnly = 2*time.Second+MaxAhead, true },
	} {
		t.Run(name, func(t *testing.T) {
			const most = 2000 // one in a hundred fails without the rule of snapshots
			for seed := range uint64(most) {
				if err := playWorld(t, seed, without); err != nil {
					t.Logf("seed %d: %.300v", seed, err)
					return
				}
			}
			t.Errorf("%d worlds without it went well", most)
		})
	}
}
