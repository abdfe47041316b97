package shardmap_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// mapReads counts queries of the shard map.
type mapReads struct {
	*dynamodb.Client
	queries atomic.Int64
}

func (m *mapReads) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	m.queries.Add(1)
	return m.Client.Query(ctx, in, o...)
}

// TestInvalidKeysAreRejected checks that keys which can't be stored are rejected. Keys that resemble the map's own
// items are valid.
func TestInvalidKeysAreRejected(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	c := d.Changer(shardmap.ChangerOptions{})
	long := strings.Repeat("k", 1025)
	for _, key := range []string{"", long} {
		_, pinned := c.Pin(libtest.Within(t), key, 4, libtest.Note, now)
		_, reset := c.Reset(libtest.Within(t), key, now)
		_, grown := c.GrowFrom(libtest.Within(t), shardmap.Entry{Key: key}, 4, libtest.Note, now)
		for name, err := range map[string]error{"pin": pinned, "reset": reset, "grow": grown, "forget": c.Forget(libtest.Within(t), key, now)} {
			if !errors.Is(err, shard.ErrMisused) {
				t.Errorf("%s of %.9q: error %v, want ErrMisused", name, key, err)
			}
		}
	}
	if _, err := d.Shards.Lookup(libtest.Within(t), "", now); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("lookup of an empty key: error %v, want ErrMisused", err)
	}
	if entry, err := d.Shards.Read(libtest.Within(t), long); err != nil || entry.Most() != 1 {
		t.Errorf("Read of a key of 1,025 bytes: %+v, %v; want 1 write shard", entry, err)
	}
	unusual := []string{"log", "log#7", "keys#3", "partitions", strings.Repeat("é", 512)}
	for i, key := range unusual {
		d.Pin(t, key, 5+i, now)
	}
	for name, view := range map[string]*shardmap.Map{"new": shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), "the changer's": c.Map} {
		for i, key := range unusual {
			entry, err := view.Lookup(libtest.Within(t), key, now.Add(shardmap.ViewAge+time.Second))
			if err != nil || entry.History.Newest() != 5+i {
				t.Errorf("%s view, key %.9q: %+v, %v; want %d write shards", name, key, entry, err, 5+i)
			}
		}
	}
}

// TestLoadHasDeletionsDuringIt checks that a load applies changes of keys that it had already read, by one read
// of the log.
func TestLoadHasDeletionsDuringIt(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	for _, key := range []string{"C#gone", "C#back", "C#stays"} {
		d.Pin(t, key, 30, now)
	}
	late := &lateQuery{mapReads: mapReads{Client: d.Client}, hookRun: make(chan struct{}), hook: func() {
		d.forget(t, "C#gone", now)
		d.forget(t, "C#back", now)
		d.Pin(t, "C#back", 3, now)
	}}
	view := shardmap.New(late, d.Names.ShardMap, shardmap.Options{})
	for key, want := range map[string]int{"C#gone": 1, "C#back": 3, "C#stays": 30} {
		entry, err := view.Lookup(libtest.Within(t), key, now)
		if err != nil || entry.History.Newest() != want || late.queries.Load() != 2*schema.MapParts+1 {
			t.Errorf("%s: %+v, %v after %d queries; want %d write shards, and a query of each bucket, each snapshot and the log", key, entry, err, late.queries.Load(), want)
		}
	}
}

// lateQuery delays the answers of all buckets' queries until a hook has run, after the last of them was read.
type lateQuery struct {
	mapReads
	hook    func()
	hookRun chan struct{}
	buckets atomic.Int64
}

func (l *lateQuery) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := l.mapReads.Query(ctx, in, o...)
	if in.ExpressionAttributeValues[":part"] == nil {
		return out, err
	}
	if l.buckets.Add(1) == schema.MapParts {
		l.hook()
		close(l.hookRun)
	}
	<-l.hookRun
	return out, err
}
