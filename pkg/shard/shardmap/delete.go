package shardmap

import (
	"context"
	"errors"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// ErrInUse means that a key's shard count was set after its reset; use errors.Is.
var ErrInUse = errors.New("the shard count was set again")

// Reset sets a base key back to its state before the first change: one write shard at every
// time, not pinned. It is the first of two steps of deleting a key whose items are deleted.
// It returns ErrNoChange if there is nothing to reset; the entry of a key that was reset or
// deleted before has a Version, and the entry of a key that is not in the map has none.
//
// After a reset, the count no longer leads to older items. Processes may use the old write
// shards for a view's age more; for counters and boards up to [CountAge] if they can't read
// the map. Requests in flight may use them until they end. So the caller waits for that
// time, deletes the items on all write shards up to the entry's Most, which a reset keeps,
// and then calls Forget.
func (c *Changer) Reset(ctx context.Context, key string, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if len(e.History) == 0 && !e.Pinned {
			return e, ErrNoChange
		}
		return Entry{Key: key, Max: e.Most(), Version: e.Version + 1, Updated: dated(now), Forgotten: true}, nil
	})
}

// Flatten makes the one write shard of a pinned key the place of all its items, whatever their times. It is a step of
// moving the items there: look-ups and ranges ask all write shards up to the entry's Most. It returns ErrInUse if another
// count may still be in force, and ErrNoChange if the entry is [Entry.Flat].
func (c *Changer) Flatten(ctx context.Context, key string, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		switch {
		case e.Flat():
			return e, ErrNoChange
		case !e.Pinned || e.History.Newest() != 1 || e.Effective().Add(Margin).After(now):
			return e, ErrInUse
		}
		return Entry{
			Key: key, History: shard.History{{At: dated(now), Count: 1}}, Max: e.Most(), Version: e.Version + 1,
			Pinned: true, Updated: dated(now), Forgotten: true,
		}, nil
	})
}

// Forget removes a key that was reset from the map; it is the second step. It returns
// ErrInUse if the key was not reset or has changed since, and ErrNoChange if it is not in
// the map.
//
// The key's name, version and deletion time stay for a day, and its changes stay in the log
// for two hours. A key that is used again within that day continues with the next version.
// TTL removes the item after every view has dropped the key; versions then start over.
func (c *Changer) Forget(ctx context.Context, key string, now time.Time) error {
	_, err := c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		switch {
		case len(e.History) > 0 || e.Pinned:
			return e, ErrInUse
		case e.Version == 0 || e.gone:
			return e, ErrNoChange
		}
		return Entry{Key: key, Version: e.Version + 1, Updated: dated(now), gone: true}, nil
	})
	return err
}
