package fold

import (
	"context"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// settledTop is what a container caches of a top whose entries it found all sure.
type settledTop struct {
	version int64
	reach   board.Reach
	read    time.Time // a time before the read, by the wall clock: a frozen process has no other
}

// maxReachAge bounds the age of a cached reach; a third of the recheck age at most.
const maxReachAge = 10 * time.Second

// beyond reports whether all old and new places of the turns lie beyond the cached reach: then the
// fold needs no read of the top.
func (f *topFolder) beyond(s *boardNews) bool {
	top, ok := f.settled.Get(s.PK())
	if age := f.now().Round(0).Sub(top.read); !ok || age < 0 || age > min(maxReachAge, f.recheck/3) {
		return false
	}
	within := func(s *boards.Score) bool { return s != nil && top.reach.MayCover(*s) }
	return !slices.ContainsFunc(s.turns, func(t turn) bool { return within(t.from) || within(t.to) })
}

// deeper multiplies the number of places to read if the index still shows players who left.
const deeper = 8

// widen reads the first places of the index into a top that is short. It notes a top that is still
// short then.
func (f *topFolder) widen(ctx context.Context, s *boardNews, top *board.Top, size int) error {
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
			return f.note(ctx, s)
		}
	}
}

// index returns the first n places, and how far down they reach.
func (f *topFolder) index(ctx context.Context, s *boardNews, n int) (places []boards.Place, reach board.Reach, err error) {
	places, err = f.boards.Top(ctx, s.Board, s.Label, n, f.now())
	if err != nil {
		return nil, reach, f.damaged(ctx, err)
	}
	if len(places) < n {
		return places, board.Everything(), nil
	}
	return places, board.DownTo(places[n-1]), nil
}
