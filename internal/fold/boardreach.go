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

// settledTop is the cached state of a top whose entries were all sure.
type settledTop struct {
	version int64
	reach   parts.Reach
	read    time.Time // a time before the read, by the wall clock, which runs on in a frozen process
}

// maxReachAge bounds the age of a cached reach. Another bound is a third of the recheck age.
const maxReachAge = 10 * time.Second

// beyond reports whether all old and new places of the entries lie beyond the cached reach. Then the
// fold need not read the top.
func (f *topFolder) beyond(s *boardChanges) bool {
	top, ok := f.settled.Get(s.PK())
	if age := f.now().Round(0).Sub(top.read); !ok || age < 0 || age > min(maxReachAge, f.recheck/3) {
		return false
	}
	within := func(merit *boards.Score) bool { return merit != nil && top.reach.MayCover(*merit) }
	return !slices.ContainsFunc(s.entries, func(t entryChange) bool { return within(t.from) || within(t.to) })
}

// deeper is the factor of places that are read if the index still shows players who left.
const deeper = 8

// widen reads the first places of the index into a top that is short. If the top is still short then,
// widen notes it.
func (f *topFolder) widen(ctx context.Context, s *boardChanges, top *parts.Top, size int) error {
	for n := f.hold(size); ; n *= 2 {
		places, reach, err := f.index(ctx, s, n)
		if err != nil {
			return err
		}
		top.Widen(reach)
		asked := s.offer(top)
		for _, p := range places {
			if !top.Holds(p.Player) {
				asked = append(asked, p.Player)
			}
		}
		if err := f.readPlayers(ctx, s, top, asked); err != nil {
			return err
		}
		top.Trim(f.hold(size))
		if reach.Whole() || !top.Short(size) {
			return nil
		}
		if n >= deeper*f.hold(size) {
			return f.noteRecheck(ctx, s)
		}
	}
}

// index returns a period's first n places in the index, and how far down they reach.
func (f *topFolder) index(ctx context.Context, s *boardChanges, n int) (places []boards.Place, reach parts.Reach, err error) {
	places, err = f.boards.Top(ctx, s.Board, s.Label, n, f.now())
	if err != nil && !errors.Is(err, shard.ErrNotFound) { // the board may have been deleted
		return nil, reach, f.unreadableErr(ctx, err)
	}
	if len(places) < n {
		return places, parts.Everything(), nil
	}
	return places, parts.DownTo(places[n-1]), nil
}
