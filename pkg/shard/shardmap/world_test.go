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
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// world simulates processes with views of one shard map. Clocks differ by up to HostClocks, and commits take up to
// CommitTime. Processes freeze, restart, load during changes and die in a transaction. Some partitions are throttled
// for a while, and TTL deletes expired items at once.
type world struct {
	strictMap

	mu       sync.Mutex
	random   *rand.Rand
	truth    map[string][]state // each key's states, in the order of commits
	observed []observed
	fault    error     // the first fault
	full     string    // a bucket whose reads are throttled
	until    time.Time // the end of the throttling
}

// state is a key's entry from a time on.
type state struct {
	at      time.Time
	version int64
	newest  int
	deleted bool
	history shard.History
	voided  int64 // number of voids, which raise the version only
}

// differsByVoids reports whether the state differs from that of a version by voids only, which are not in a log.
func (s state) differsByVoids(version int64) bool {
	return s.version-s.voided <= version && version <= s.version
}

// observed is the count that a process used at when for time t.
type observed struct {
	key   string
	t     time.Time
	count int
	when  time.Time
}

func newWorld(seed uint64) *world {
	return &world{
		strictMap: strictMap{enginetest.NewMapTable(3, 0, 0)}, random: rand.New(rand.NewPCG(seed, 7)), truth: map[string][]state{},
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

// linger waits for one direction of a call. Six of 1,000 find the process frozen, which misses its deadline.
func (w *world) linger(ctx context.Context) error {
	d := w.within(0, 20*time.Millisecond)
	switch n := w.below(1000); {
	case n < 6:
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
	w.MapTable.Mu.Lock()
	w.expire()
	w.MapTable.Mu.Unlock()
	if err := read(); err != nil {
		return err
	}
	return w.linger(ctx)
}

func (w *world) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.GetItemOutput, err error) {
	err = w.read(ctx, func() (err error) { out, err = w.MapTable.GetItem(context.Background(), in, o...); return err })
	return out, err
}

func (w *world) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (out *dynamodb.QueryOutput, err error) {
	err = w.read(ctx, func() (err error) {
		if w.throttles(dynamo.Text(in.ExpressionAttributeValues, ":part")) {
			return &types.ProvisionedThroughputExceededException{}
		}
		out, err = w.MapTable.Query(context.Background(), in, o...)
		return err
	})
	return out, err
}

// PutItem voids a change, or stores an item of a snapshot. The writer may die, so that the snapshot is torn.
func (w *world) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	if in.ConditionExpression != nil {
		return w.void(ctx, in, o...)
	}
	if w.chance(2) {
		return nil, errDied
	}
	err = w.read(ctx, func() (err error) { out, err = w.MapTable.PutItem(context.Background(), in, o...); return err })
	return out, err
}

// fill throttles a bucket's reads for a while, so that loads end late.
func (w *world) fill() {
	part, until := schema.MapBucket(w.below(schema.MapBuckets)), time.Now().Add(w.within(0, 20*time.Second))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full, w.until = part, until
}

func (w *world) throttles(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return part == w.full && time.Now().Before(w.until)
}

var errDied = errors.New("the process died during its call")

// TransactWriteItems commits within CommitTime, at the latest at the caller's deadline.
func (w *world) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := w.Wait(ctx, w.within(0, CommitTime-50*time.Millisecond)); err != nil && w.chance(50) {
		return nil, err
	}
	if w.chance(5) {
		return nil, errDied // nothing was written
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
	out, err := w.MapTable.PutItem(context.Background(), in, o...)
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
	w.MapTable.Mu.Lock()
	defer w.MapTable.Mu.Unlock()
	w.expire()
	put := in.TransactItems[0].Put
	if !holds(put, w.Items[enginetest.ItemSlot(put.Item)]) {
		return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("ConditionalCheckFailed")}}}
	}
	for _, action := range in.TransactItems {
		w.Put(action.Put.Item)
	}
	e := readEntry(dynamo.Text(put.Item, schema.SK), put.Item)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.truth[e.Key] = append(w.truth[e.Key], state{time.Now(), e.Version, e.History.Newest(), e.deleted, e.History, 0})
	return nil
}

// process is one of the simulated processes.
type process struct {
	*world
	skew    time.Duration
	changer *Changer
}

func (w *world) process() *process {
	p := &process{world: w, skew: w.within(-HostClocks/2, HostClocks/2)}
	p.begin()
	return p
}

// begin gives the process an empty view.
func (p *process) begin() {
	view := New(p.world, "m", Options{})
	view.log = schema.MapLog(p.below(schema.MapLogs))
	p.changer = NewChanger(p.world, view, ChangerOptions{Clock: func() time.Time { return time.Now().Add(p.skew) }})
}

// kept are the keys that are never deleted. Processes must agree on their counts.
var kept = []string{"E#a", "E#b", "orders/acme"}

const deletable = "C#d"

func (p *process) step() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	key := append(kept, deletable)[p.below(4)]
	switch now := time.Now().Add(p.skew); p.below(20) {
	case 0:
		p.begin()
	case 1, 2:
		_, _ = p.changer.Pin(ctx, key, 1+p.below(60), Note{}, now) // may fail
	case 3:
		if seen, err := p.changer.Lookup(ctx, key, now); err == nil {
			_, _ = p.changer.GrowFrom(ctx, seen, 1+p.below(60), Note{}, time.Now().Add(p.skew))
		}
	case 4:
		_, _ = p.changer.Reset(ctx, deletable, now)
		_ = p.changer.Forget(ctx, deletable, time.Now().Add(p.skew))
	case 5:
		_, _ = p.changer.Current(ctx, key)
	case 6:
		_ = p.changer.StoreSnapshot(context.WithoutCancel(ctx), now) // may fail
	default:
		p.lookUp(ctx, key, now)
	}
}

// lookUp looks up a key and checks that the entry has all changes that are older than ViewAge.
func (p *process) lookUp(ctx context.Context, key string, now time.Time) {
	begun := time.Now()
	e, err := p.changer.Lookup(ctx, key, now)
	if err != nil {
		return // a failed lookup hides no change
	}
	p.mu.Lock()
	states := p.truth[key]
	p.mu.Unlock()
	must := 0 // number of states older than ViewAge, of which the view may have the last or a newer one
	for must < len(states) && begun.Sub(states[must].at) > ViewAge {
		must++
	}
	known := must == 0 && len(e.History) == 0 || slices.ContainsFunc(states[max(0, must-1):], func(s state) bool {
		return s.newest == e.History.Newest() && (s.version == e.Version || s.differsByVoids(e.Version) || s.deleted && e.Max <= 1)
	})
	if !known {
		p.fail(fmt.Errorf("at %v %s has version %d and %d write shards in a view, and its states are %+v, of which %d are older than ViewAge", begun, key, e.Version, e.History.Newest(), states, must))
	}
	for _, t := range []time.Time{now, now.Add(MaxAhead), now.Add(-p.within(0, time.Minute))} {
		p.mu.Lock()
		p.observed = append(p.observed, observed{key, t, e.History.At(t), begun})
		p.mu.Unlock()
	}
}

// run simulates six periods in which processes are busy. All are frozen in between, and some during a period.
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

// verdict compares the counts that processes used with the final history in the table.
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
			return fmt.Errorf("%s: at %v a process used %d write shards for %v, want %d", o.key, o.when, o.count, o.t, n)
		}
	}
	return nil
}

// playWorld runs a seed's world.
func playWorld(t *testing.T, seed uint64) (err error) {
	synctest.Test(t, func(*testing.T) {
		err = newWorld(seed).run()
		time.Sleep(24 * time.Hour) // until no process is frozen
	})
	return err
}

// TestNoViewMissesAChange checks I6, and that all processes agree on N(t) before t (I7).
func TestNoViewMissesAChange(t *testing.T) {
	first := require.Seed(t)
	seeds := uint64(require.Runs(require.UnlessQuick(20, 10), 40))
	for seed := first; seed < first+seeds; seed++ {
		if err := playWorld(t, seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
