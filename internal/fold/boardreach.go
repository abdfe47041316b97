package fold

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// cachedTop has the version and the reach of a stored top without unsure entries.
type cachedTop struct {
	version int64
	reach   parts.Reach
	read    time.Time // before the read, by the wall clock, which also runs while Lambda freezes the process
}

// maxReachAge bounds the age of a cached reach, which also is at most a third of the recheck age.
const maxReachAge = 10 * time.Second

// allBeyondReach reports whether the merits of all entries, before and after their changes, are beyond the cached reach.
// Then the fold need not read the top. It returns false if the cache has no recent reach.
func (f *topFolder) allBeyondReach(s *boardChanges) bool {
	top, ok := f.cache.Get(s.PK())
	if age := f.now().Round(0).Sub(top.read); !ok || age < 0 || age > min(maxReachAge, f.recheck/3) {
		return false
	}
	within := func(merit *boards.Score) bool { return merit != nil && top.reach.MayCover(*merit) }
	return !slices.ContainsFunc(s.entries, func(t entryChange) bool { return within(t.from) || within(t.to) })
}

// maxDeeper bounds the places that widen reads from the index: so many times the places that a top holds.
const maxDeeper = 8

// widen adds the first places of the index to a top that is short. It reads up to maxDeeper times as many places if the
// index still shows players who left. If the top is then still short, widen notes a recheck.
func (f *topFolder) widen(ctx context.Context, s *boardChanges, top *parts.Top, size int) error {
	for n := f.capacity(size); ; n *= 2 {
		places, reach, err := f.readIndex(ctx, s, n)
		if err != nil {
			return err
		}
		top.Widen(reach)
		unread := s.foldRecords(top)
		for _, p := range places {
			if !top.Holds(p.Player) {
				unread = append(unread, p.Player)
			}
		}
		if err := f.readPlayers(ctx, s, top, unread); err != nil {
			return err
		}
		top.Trim(f.capacity(size))
		if reach.Whole() || !top.IsShort(size) {
			return nil
		}
		if n >= maxDeeper*f.capacity(size) {
			return f.noteRecheck(ctx, s)
		}
	}
}

// readIndex returns a period's first n places in the index, and their reach: everything if there are fewer places.
func (f *topFolder) readIndex(ctx context.Context, s *boardChanges, n int) (places []boards.Place, reach parts.Reach, err error) {
	places, err = f.boards.Top(ctx, s.Board, s.Label, n, f.now())
	if err != nil && !errors.Is(err, shard.ErrNotFound) { // the board may have been deleted
		return nil, reach, f.unreadableErr(ctx, err)
	}
	if len(places) < n {
		return places, parts.Everything(), nil
	}
	return places, parts.DownTo(places[n-1]), nil
}
