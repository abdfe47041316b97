package shardmap

import (
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// nextEntry returns the entry after a change at now. A growth takes effect after the lead. A decrease takes
// effect after all processes have read it, even if it is committed late because its Changer died.
//
// A growth lowers the count at no time, so it hides pending decreases to a smaller count. They stay in
// the history, each for a millisecond just before the growth, so that look-ups know the counts that
// other processes may use.
func (c *Changer) nextEntry(e Entry, count int, note Note, now time.Time) (Entry, error) {
	if count < 1 || count > shard.MaxShards {
		return e, fmt.Errorf("%w: shard count %d: want 1 to %d", shard.ErrMisused, count, shard.MaxShards)
	}
	at := dated(now.Add(c.lead + time.Millisecond - 1)) // rounded up
	timeless := schema.TraitsOf(schema.Kind(note.Kind)).Timeless
	if count < e.History.Newest() && !timeless {
		at = at.Add(c.longer)
	}
	h := c.pruned(e, now, timeless)
	next := Entry{Key: e.Key, Version: e.Version + 1, Updated: dated(now), Max: max(e.Most(), count), Pinned: e.Pinned, Notes: map[int64]Note{}}
	next.Forgotten = e.Forgotten || len(h) < len(e.History)
	hidden, at := hideDecreases(h, count, at)
	for i := range h {
		noted, ok := e.Notes[h[i].At.UnixMilli()]
		if i >= hidden {
			h[i].At, at = at, at.Add(time.Millisecond)
		}
		if ok && i > len(h)-maxNotes {
			next.Notes[h[i].At.UnixMilli()] = noted
		}
	}
	if last := len(h) - 1; last >= 0 && !at.After(h[last].At) {
		at = h[last].At.Add(time.Millisecond)
	}
	next.History = append(h, shard.Change{At: at, Count: count})
	note.Made = next.Updated
	next.Notes[at.UnixMilli()] = note
	return next, nil
}

// hideDecreases returns the index of the first change in h that a change to count at time at hides, and
// when count takes effect. The index is len(h) if it hides none.
func hideDecreases(h shard.History, count int, at time.Time) (hidden int, effective time.Time) {
	hidden = len(h)
	pending := func(i int) bool { return i >= 0 && !h[i].At.Before(at) }
	for pending(hidden-1) && (h[hidden-1].Count < count || h[hidden-1].Count == count && h[:hidden-1].Newest() > count) {
		hidden--
	}
	if hidden < len(h) && (pending(hidden-1) || h[:hidden].Newest() > count) {
		return hidden, h[hidden].At // the count until then is at least as large
	}
	return hidden, at
}

// maxTimeless bounds the changes of a key whose items' write shards depend on no past count.
const maxTimeless = 30

// pruned returns the history without the changes that ended before the retention's begin, since no
// retained event depends on them. A key of a timeless kind keeps at most maxTimeless changes with the next one.
func (c *Changer) pruned(e Entry, now time.Time, timeless bool) shard.History {
	h, first := e.History, 0
	for c.o.Keep > 0 && first+1 < len(h) && h[first+1].At.Before(now.Add(-c.o.Keep)) {
		first++
	}
	if timeless {
		first = max(first, len(h)-maxTimeless+1)
	}
	return append(shard.History(nil), h[first:]...)
}

// clockError bounds how far a caller's time may differ from the Changer's clock, and how far that clock
// may be behind the key's newest change.
const clockError = 5 * time.Second

// changeTime returns the Changer's clock, by which changes are dated. It rejects a caller's time that
// differs too much. A change that is dated too early would be missed by polls, and one that is dated
// too late would take effect too late.
func (c *Changer) changeTime(now time.Time) (time.Time, error) {
	if now.IsZero() {
		return now, fmt.Errorf("%w: the time of a change is zero: pass the current time", shard.ErrMisused)
	}
	if c.o.Clock == nil {
		return now, nil
	}
	clock := c.o.Clock()
	switch off := now.Sub(clock); {
	case off < -clockError:
		return now, fmt.Errorf("%w: the time of a change is %v behind the clock: pass the current time", shard.ErrMisused, -off)
	case off > clockError:
		return now, fmt.Errorf("%w: the time of a change is %v ahead of the clock: pass the current time", shard.ErrMisused, off)
	}
	return clock, nil
}

// checkNewest returns an error if the key's newest change is dated after now.
func checkNewest(e Entry, now time.Time) error {
	if ahead := e.Updated.Sub(now); ahead > clockError {
		return fmt.Errorf("%w: the newest change is dated %v after now: check this clock and that of %q", shard.ErrMisused, ahead, e.Notes[e.Effective().UnixMilli()].By)
	}
	return nil
}

// dated returns a time with the precision of entries: milliseconds, in UTC.
func dated(t time.Time) time.Time { return t.Round(0).Truncate(time.Millisecond).UTC() }
