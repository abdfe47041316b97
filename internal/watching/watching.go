package watching

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// nobody is a Watcher that does nothing.
type nobody struct{}

func (nobody) Requested(shardmap.Request) {}

func (nobody) Attempted(context.Context, shardmap.Attempt) {}

// Or is the watcher, or nobody.
func Or(w shardmap.Watcher) shardmap.Watcher {
	if w == nil {
		return nobody{}
	}
	return w
}

// Tell tells the watcher what became of a write of one item. Limit is the scope of a
// throttle that the write shard's partition is to blame for.
func Tell(ctx context.Context, w shardmap.Watcher, a shardmap.Attempt, err error, limit dynamo.Scope) {
	_, failed := dynamo.ConditionFailed(err)
	switch {
	case err == nil, failed:
		a.Outcome = shardmap.Taken
	case dynamo.ThrottleScope(err) == limit:
		a.Outcome = shardmap.OverLimit
	case dynamo.IsConflict(err):
		a.Outcome = shardmap.Conflicted
	default:
		return
	}
	w.Attempted(ctx, a)
}

var hashSeed = maphash.MakeSeed()

// Hash is the hash of an item's identity, by which this process tells items apart.
func Hash(identity string) uint64 { return maphash.String(hashSeed, identity) }

// Requests gathers what a call writes of each key.
type Requests map[string]shardmap.Request

// Add adds an item of a key.
func (r Requests) Add(key string, item uint64, at time.Time) {
	one, there := r[key]
	if !there || at.After(one.At) {
		one.At = at
	}
	one.Key, one.ID = key, one.ID+item
	r[key] = one
}

func (r Requests) Tell(w shardmap.Watcher) {
	for _, one := range r {
		w.Requested(one)
	}
}
