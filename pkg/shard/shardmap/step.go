package shardmap

import (
	"fmt"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// nextEntry returns the entry after a change at now. A growth takes effect after the lead. A decrease takes effect after
// all processes have read it, even if it is committed late because its Changer died.
//
// A growth must not lower the count at any time, so it hides pending decreases to a smaller count. Hidden decreases stay
// in the history, each for a millisecond just before the growth. So look-ups consider the counts that other processes
// may use.
func (c *Changer) nextEntry(e Entry, count int, note Note, now time.Time) (Entry, error) {
	if count < 1 || count > shard.MaxShards {
		return e, fmt.Errorf("%w: shard count %d: want 1 to %d", shard.ErrMisused, count, shard.MaxShards)
	}
	earliest := entryTime(now.Add(c.lead + time.Millisecond - 1)) // rounded up
	timeless := schema.TraitsOf(schema.Kind(note.Kind)).Timeless
	if count < e.History.Newest() && !timeless {
		earliest = earliest.Add(c.shrinkLead)
	}
	h := c.pruned(e, now, timeless)
	next := Entry{Key: e.Key, Version: e.Version + 1, Updated: entryTime(now), Max: max(e.Most(), count), Pinned: e.Pinned, Notes: map[int64]Note{}}
	next.Forgotten = e.Forgotten || len(h) < len(e.History)
	firstHidden, effective := hideDecreases(h, count, earliest)
	for i := range h {
		oldNote, ok := e.Notes[h[i].At.UnixMilli()]
		if i >= firstHidden {
			h[i].At, effective = effective, effective.Add(time.Millisecond)
		}
		if ok && i > len(h)-maxNotes {
			next.Notes[h[i].At.UnixMilli()] = oldNote
		}
	}
	if last := len(h) - 1; last >= 0 && !effective.After(h[last].At) {
		effective = h[last].At.Add(time.Millisecond)
	}
	next.History = append(h, shard.Change{At: effective, Count: count})
	note.Made = next.Updated
	next.Notes[effective.UnixMilli()] = note
	return next, nil
}

// hideDecreases returns the index of the first change in h that a change to count hides, and when count takes effect.
// The index is len(h) if no change is hidden. Only changes at earliest or later are pending, and can be hidden.
func hideDecreases(h shard.History, count int, earliest time.Time) (firstHidden int, effective time.Time) {
	firstHidden, effective = len(h), earliest
	for i := len(h) - 1; i >= 0 && !h[i].At.Before(earliest); i-- {
		before := h[:i].Newest()
		isDecreaseToCount := h[i].Count == count && before > count
		isHidden := h[i].Count < count || isDecreaseToCount
		if !isHidden {
			break
		}
		firstHidden, effective = i, earliest
		isPreviousPending := i > 0 && !h[i-1].At.Before(earliest)
		if isPreviousPending || before > count {
			effective = h[i].At // the count until then is at least as large
		}
	}
	return firstHidden, effective
}

// maxTimeless bounds the history of a key of a timeless kind: no item's write shard depends on a past count.
const maxTimeless = 30

// pruned returns a copy of the history, without changes whose counts were no longer in effect Keep ago: no retained
// event depends on them. For a timeless kind, at most maxTimeless changes are left with the next one.
func (c *Changer) pruned(e Entry, now time.Time, timeless bool) shard.History {
	h, first := e.History, 0
	for c.keep > 0 && first+1 < len(h) && h[first+1].At.Before(now.Add(-c.keep)) {
		first++
	}
	if timeless {
		first = max(first, len(h)-maxTimeless+1)
	}
	return slices.Clone(h[first:])
}

// clockError bounds how far a caller's time may differ from the Changer's clock, and how far the Changer's clock may be
// behind the key's newest change.
const clockError = 5 * time.Second

// changeTime returns the time of the Changer's clock, by which changes are dated. It returns ErrMisused if the caller's
// time differs by more than clockError. Polls would miss a change that is dated too early, and a change that is dated
// too late would take effect too late.
func (c *Changer) changeTime(now time.Time) (time.Time, error) {
	if now.IsZero() {
		return now, fmt.Errorf("%w: the time of a change is zero: pass the current time", shard.ErrMisused)
	}
	if c.clock == nil {
		return now, nil
	}
	clock := c.clock()
	switch ahead := now.Sub(clock); {
	case ahead < -clockError:
		return now, fmt.Errorf("%w: the time of a change is %v behind the clock: pass the current time", shard.ErrMisused, -ahead)
	case ahead > clockError:
		return now, fmt.Errorf("%w: the time of a change is %v ahead of the clock: pass the current time", shard.ErrMisused, ahead)
	}
	return clock, nil
}

// checkNewest returns ErrMisused if the key's newest change is dated more than clockError after now.
func checkNewest(e Entry, now time.Time) error {
	if ahead := e.Updated.Sub(now); ahead > clockError {
		return fmt.Errorf("%w: the key's newest change is dated %v after now: check this clock and that of %q", shard.ErrMisused, ahead, e.Notes[e.Effective().UnixMilli()].By)
	}
	return nil
}

// entryTime returns a time with the precision of entries, in UTC: it is truncated to milliseconds.
func entryTime(t time.Time) time.Time { return t.Round(0).Truncate(time.Millisecond).UTC() }
