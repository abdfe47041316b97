package shardmap

import (
	"context"
	"errors"
	"time"
)

// ErrInUse means that a key to forget was not reset, or was changed after its reset; use errors.Is.
var ErrInUse = errors.New("the shard count was not reset, or was set after the reset: reset the key again")

// Reset returns a base key to its state before the first change: one write shard at every time, not pinned. It is the
// first of two steps of deleting a key with its items. If there is nothing to reset, it returns ErrNoChange. The entry's
// Version is then 0 if the key is not in the map, and above 0 if the key was reset or deleted before.
//
// After a reset, reads no longer find items on the old write shards. Writers may use these shards for another ViewAge,
// and writers of counters and boards for up to [CountAge] if they can't read the map. Requests in flight may use them
// until they end. So the caller waits for that time, and deletes the items on all write shards up to the entry's Most,
// which a reset keeps. Then it calls Forget.
func (c *Changer) Reset(ctx context.Context, key string, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if len(e.History) == 0 && !e.Pinned {
			return e, ErrNoChange
		}
		return Entry{Key: key, Max: e.Most(), Version: e.Version + 1, Updated: entryTime(now), Forgotten: true}, nil
	})
}

// Forget removes a key that was reset from the map; it is the second step of a deletion. It returns ErrInUse if
// the key was not reset, or was changed since, and ErrNoChange if the key is not in the map.
//
// The key's item, with its version and the deletion time, stays for a day, and the key's changes stay in the
// log for two hours. A key that is used again within that day continues with the next version. After the day, TTL
// deletes the item, and versions start over; every view has dropped the key by then.
func (c *Changer) Forget(ctx context.Context, key string, now time.Time) error {
	_, err := c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		switch {
		case len(e.History) > 0 || e.Pinned:
			return e, ErrInUse
		case e.Version == 0 || e.deleted:
			return e, ErrNoChange
		}
		return Entry{Key: key, Version: e.Version + 1, Updated: entryTime(now), deleted: true}, nil
	})
	return err
}
