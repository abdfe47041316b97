package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// mapReads counts what reads of the shard map are made.
type mapReads struct {
	*dynamodb.Client
	gets, queries atomic.Int64
}

func (m *mapReads) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	m.gets.Add(1)
	return m.Client.GetItem(ctx, in, o...)
}

func (m *mapReads) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	m.queries.Add(1)
	return m.Client.Query(ctx, in, o...)
}

// TestADeletionIsOneReadForEveryProcess, as all other changes are.
func TestADeletionIsOneReadForEveryProcess(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := later
	const keys, processes = 10, 20
	for i := range keys {
		d.pin(t, fmt.Sprintf("C#%d", i), 4, now)
	}
	reads := &mapReads{Client: d.client}
	views := make([]*ddb.Map, processes)
	for i := range views {
		views[i] = ddb.NewMap(reads, d.names.ShardMap)
		if _, err := views[i].Lookup(within(t), "C#1", now); err != nil {
			t.Fatal(err)
		}
	}
	d.forget(t, "C#3", now)
	d.pin(t, "C#3", 9, now)
	d.forget(t, "C#4", now)
	reads.gets.Store(0)
	reads.queries.Store(0)
	for _, view := range views {
		for i := range keys {
			want := map[int]int{3: 9, 4: 1}[i]
			if want == 0 {
				want = 4
			}
			entry, err := view.Lookup(within(t), fmt.Sprintf("C#%d", i), now.Add(ddb.ViewAge+time.Second))
			if err != nil || entry.History.Newest() != want {
				t.Errorf("key %d: %+v, %v; want %d", i, entry, err, want)
			}
		}
	}
	if reads.queries.Load() > processes || reads.gets.Load() != 0 {
		t.Errorf("%d processes made %d queries and %d other reads", processes, reads.queries.Load(), reads.gets.Load())
	}
}

// TestKeysThatCannotBe in the map are refused, and those that only look strange are not.
func TestKeysThatCannotBe(t *testing.T) {
	d := deploy(t)
	now := later
	c := d.changer(ddb.ChangerOptions{})
	long := strings.Repeat("k", 1025)
	for _, key := range []string{"", long} {
		_, pinned := c.Pin(within(t), key, 4, note, now)
		_, reset := c.Reset(within(t), key, now)
		_, grown := c.GrowFrom(within(t), ddb.Entry{Key: key}, 4, note, now)
		for name, err := range map[string]error{"pin": pinned, "reset": reset, "grow": grown, "forget": c.Forget(within(t), key, now)} {
			if !errors.Is(err, ddb.ErrMisused) {
				t.Errorf("%s of %.9q: %v", name, key, err)
			}
		}
	}
	if _, err := d.shards.Lookup(within(t), "", now); !errors.Is(err, ddb.ErrMisused) {
		t.Errorf("looking up no key: %v", err)
	}
	if entry, err := d.shards.Read(within(t), long); err != nil || entry.Most() != 1 {
		t.Errorf("reading a long key: %+v, %v", entry, err)
	}
	strange := []string{"log", "log#7", "keys#3", "partitions", strings.Repeat("é", 512)}
	for i, key := range strange {
		d.pin(t, key, 5+i, now)
	}
	for name, view := range map[string]*ddb.Map{"new": ddb.NewMap(d.client, d.names.ShardMap), "the changer's": c.Map} {
		for i, key := range strange {
			entry, err := view.Lookup(within(t), key, now.Add(ddb.ViewAge+time.Second))
			if err != nil || entry.History.Newest() != 5+i {
				t.Errorf("%s view, key %.9q: %+v, %v", name, key, entry, err)
			}
		}
	}
}

// TestADeletionDuringALoad: what the load saw of a key before it was deleted is gone
// from the view, with no further load.
func TestADeletionDuringALoad(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := later
	for _, key := range []string{"C#gone", "C#back", "C#stays"} {
		d.pin(t, key, 30, now)
	}
	late := &lateQuery{mapReads: mapReads{Client: d.client}, happened: make(chan struct{}), then: func() {
		d.forget(t, "C#gone", now)
		d.forget(t, "C#back", now)
		d.pin(t, "C#back", 3, now)
	}}
	view := ddb.NewMap(late, d.names.ShardMap)
	for key, want := range map[string]int{"C#gone": 1, "C#back": 3, "C#stays": 30} {
		entry, err := view.Lookup(within(t), key, now)
		if err != nil || entry.History.Newest() != want || late.queries.Load() != 17 {
			t.Errorf("%s: %+v, %v; want %d, of 17 queries: %d", key, entry, err, want, late.queries.Load())
		}
	}
}

// lateQuery gives the answers of queries of keys when something else has happened since.
type lateQuery struct {
	mapReads
	then     func()
	happened chan struct{}
	parts    atomic.Int64
}

func (l *lateQuery) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := l.mapReads.Query(ctx, in, o...)
	if in.ExpressionAttributeValues[":part"] == nil {
		return out, err
	}
	// All parts have been read when it happens.
	if l.parts.Add(1) == schema.MapParts {
		l.then()
		close(l.happened)
	}
	<-l.happened
	return out, err
}
