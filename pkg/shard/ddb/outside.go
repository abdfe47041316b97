package ddb

import (
	"context"
	"time"
)

// What packages beside this one share with it.

// Newest returns a key's entry, and on how many write shards it is written, for a write
// that needs no agreement with others on that: any count that was ever in force is right
// for it. It is 1 when the shard map can't be read.
func (m *Map) Newest(ctx context.Context, key string, now time.Time) (entry Entry, count int) {
	return m.newest(ctx, key, now)
}

// Persist calls attempt until it succeeds, fails for good, or the deadline or the bound of
// attempts is reached; then it returns the last error as a kind. When any attempt may have
// been applied, that is ErrUnavailable. It is for reads, and for writes that done twice are
// as done once.
func Persist(ctx context.Context, attempt func(ctx context.Context) error) error {
	return persist(ctx, attempt)
}

// Tell tells a watcher what became of a write of one item. Limit is the scope of a throttle
// that the write shard's partition is to blame for.
func Tell(ctx context.Context, w Watcher, a Attempt, err error, limit Scope) {
	tell(ctx, w, a, err, limit)
}
