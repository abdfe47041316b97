package shardmap_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// snapshotRun runs processes that change keys, store snapshots and load the map at the same time.
type snapshotRun struct {
	*deployment
	keys  []string
	now   func() time.Time
	fails *libtest.Flaky

	mu      sync.Mutex
	random  *rand.Rand
	acked   map[string]int64 // versions of acknowledged changes
	started atomic.Int64     // starts that read no keys
}

var errDied = errors.New("it died")

// TestStartsMissNoChangeOnTheEngine checks that every start has every change that was acknowledged before it (I6).
// Meanwhile processes change and delete keys, and two store snapshots. Writes fail before or after they are made, so
// that snapshots are torn.
func TestStartsMissNoChangeOnTheEngine(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	d := deploy(t)
	r := &snapshotRun{
		deployment: d, random: random, acked: map[string]int64{},
		fails: &libtest.Flaky{Client: d.Client, Before: libtest.Sometimes(random, 50, errDied), After: libtest.Sometimes(random, 20, libtest.LostAnswer{})},
	}
	for n := range 40 {
		r.keys = append(r.keys, fmt.Sprint("E#", n))
	}
	for round := range require.Runs(require.UnlessQuick(4, 2), 12) {
		begin, base := time.Now(), libtest.Later.Add(time.Duration(round)*11*time.Minute)
		r.now = func() time.Time { return base.Add(time.Since(begin)) }
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { _ = r.changer().StoreSnapshot(libtest.Within(t), r.now()) }) // may fail with errDied
			group.Go(func() { r.change(t, 15) })
		}
		for range 3 {
			group.Go(func() { r.start(t) })
		}
		group.Wait()
		r.start(t)
	}
	now := r.now().Add(11 * time.Minute)
	r.now = func() time.Time { return now }
	require.NoError(t, d.Changer(shardmap.ChangerOptions{}).StoreSnapshot(libtest.Within(t), now))
	now = now.Add(30 * time.Second)
	before := r.started.Load()
	view := r.start(t)
	if r.started.Load() == before {
		t.Error("a start read keys in spite of an intact snapshot")
	}
	for _, key := range r.keys {
		want, err := d.Shards.Read(libtest.Within(t), key)
		want.Notes = nil
		if got, gone := r.entry(t, view, key), want.Most() == 1 && len(want.History) == 0; err != nil || !gone && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v in a start, %+v in its item, %v", key, got, want, err)
		}
	}
}

func (r *snapshotRun) changer() *shardmap.Changer {
	return libtest.Patient(shardmap.NewChanger(r.fails, shardmap.New(r.fails, r.Names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{}))
}

func (r *snapshotRun) below(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(n)
}

// change changes keys, and deletes some.
func (r *snapshotRun) change(t *testing.T, times int) {
	c := r.changer()
	for range times {
		key := r.keys[r.below(len(r.keys))]
		entry, err := shardmap.Entry{}, error(nil)
		if r.below(4) == 0 {
			if entry, err = c.Reset(libtest.Within(t), key, r.now()); err == nil {
				_ = c.Forget(libtest.Within(t), key, r.now()) // may fail with errDied
			}
		} else {
			entry, err = c.Pin(libtest.Within(t), key, 2+r.below(60), libtest.Note, r.now())
		}
		if err == nil {
			r.mu.Lock()
			r.acked[key] = max(r.acked[key], entry.Version)
			r.mu.Unlock()
		}
	}
}

// start loads a view and checks that it has all changes that were acknowledged before.
func (r *snapshotRun) start(t *testing.T) *shardmap.Map {
	r.mu.Lock()
	acked := map[string]int64{}
	for key, version := range r.acked {
		acked[key] = version
	}
	r.mu.Unlock()
	reads := &keyReads{Client: r.Client}
	view := shardmap.New(reads, r.Names.ShardMap, shardmap.Options{})
	if err := view.Load(libtest.Within(t), r.now()); err != nil {
		t.Error(err)
	}
	if reads.ofKeys.Load() == 0 {
		r.started.Add(1)
	}
	for key, version := range acked {
		if e := r.entry(t, view, key); e.Version < version {
			t.Errorf("%s: version %d in a start, want at least %d, which was acknowledged before it", key, e.Version, version)
		}
	}
	return view
}

func (r *snapshotRun) entry(t *testing.T, view *shardmap.Map, key string) shardmap.Entry {
	e, err := view.Lookup(libtest.Within(t), key, r.now())
	if err != nil {
		t.Error(err)
	}
	return e
}

// keyReads counts queries of keys' items.
type keyReads struct {
	*dynamodb.Client
	ofKeys atomic.Int64
}

func (k *keyReads) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if dynamo.Text(in.ExpressionAttributeValues, ":part") != "" {
		k.ofKeys.Add(1)
	}
	return k.Client.Query(ctx, in, o...)
}
