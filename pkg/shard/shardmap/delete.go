package shardmap

import (
	"context"
	"errors"
	"time"
)

// ErrInUse means that a key's shard count was set again; use errors.Is.
var ErrInUse = errors.New("the shard count was set again")

// Reset takes a base key back to where it was before its first change: one write
// shard at every time, not pinned. It is for a key whose items are being deleted,
// and the first of two steps.
//
// What was written before can't be found by the count any more. Processes go by the
// reset within a view's age, of counters and boards within [CountAge] where they can't
// read the map; and requests that had begun before go on as long as they
// last. What they write goes to the old write shards. So the caller waits for that,
// deletes what is on any write shard up to the entry's Most, which a reset keeps,
// and then calls Forget. It is ErrNoChange for a key that has nothing to reset; the
// entry tells one that was reset or deleted before, which has a Version, from one that
// is not in the map.
func (c *Changer) Reset(ctx context.Context, key string, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if len(e.History) == 0 && !e.Pinned {
			return e, ErrNoChange
		}
		return Entry{Key: key, Max: e.Most(), Version: e.Version + 1, Updated: dated(now), Forgotten: true}, nil
	})
}

// Forget removes a key that was reset from the map: the second step. It is ErrInUse when
// the key was not reset or has changed since, and ErrNoChange when it is not in the map.
//
// What is left of the key is its name, with a version and the time, for a day, and the
// changes of the last two hours in the log. A key that is used again has the version
// after that one. TTL removes the rest, when no view knows of it any more, and versions
// begin anew.
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
