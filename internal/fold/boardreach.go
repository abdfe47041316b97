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

// cachedTop is the version and the reach of a top whose entries were all sure.
type cachedTop struct {
	version int64
	reach   parts.Reach
	read    time.Time // a time before the read, by the wall clock, which also runs while a process is frozen
}

// maxReachAge bounds the age of a cached reach. Another bound is a third of the recheck age.
const maxReachAge = 10 * time.Second

// allBeyondReach reports whether all old and new places of the entries lie beyond the cached reach. Then the
// fold need not read the top.
func (f *topFolder) allBeyondReach(s *boardChanges) bool {
	top, ok := f.cache.Get(s.PK())
	if age := f.now().Round(0).Sub(top.read); !ok || age < 0 || age > min(maxReachAge, f.recheck/3) {
		return false
	}
	within := func(merit *boards.Score) bool { return merit != nil && top.reach.MayCover(*merit) }
	return !slices.ContainsFunc(s.entries, func(t entryChange) bool { return within(t.from) || within(t.to) })
}

// maxDeeper bounds the places of the index that widen reads, as a multiple of the places that a top holds.
const maxDeeper = 8

// widen reads the first places of the index into a top that is short, and more places if the index still shows players who
// left. If the top is then still short, widen notes a recheck.
func (f *topFolder) widen(ctx context.Context, s *boardChanges, top *parts.Top, size int) error {
	for n := f.hold(size); ; n *= 2 {
		places, reach, err := f.readIndex(ctx, s, n)
		if err != nil {
			return err
		}
		top.Widen(reach)
		asked := s.foldRecords(top)
		for _, p := range places {
			if !top.Holds(p.Player) {
				asked = append(asked, p.Player)
			}
		}
		if err := f.readPlayers(ctx, s, top, asked); err != nil {
			return err
		}
		top.Trim(f.hold(size))
		if reach.Whole() || !top.IsShort(size) {
			return nil
		}
		if n >= maxDeeper*f.hold(size) {
			return f.noteRecheck(ctx, s)
		}
	}
}

// readIndex returns a period's first n places in the index, and how far down they reach.
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
