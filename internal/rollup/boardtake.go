package rollup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// turned folds a boardNews's turns.
func (f *topFolder) turned(ctx context.Context, s *boardNews, top storedTop, size int) (*board.Top, error) {
	next := top.Clone()
	if version, ok := f.sure.Get(s.PK()); ok && version == top.version {
		next.Sure()
	}
	asked := s.offer(next)
	if err := f.take(ctx, s, next, append(asked, next.Unsure()...)); err != nil {
		return nil, err
	}
	next.Trim(f.hold(size))
	if next.Short(size) {
		if err := f.widen(ctx, s, next, size); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// offer hands a top the newest state of each player, and returns those whose
// entries must be read.
func (s *boardNews) offer(top *board.Top) (asked []string) {
	for _, state := range s.newest() {
		if top.Offer(state) == board.Asks {
			asked = append(asked, state.Player)
		}
	}
	return asked
}

// take reads players' entries into a top. A damaged one has no place there.
func (f *topFolder) take(ctx context.Context, s *boardNews, top *board.Top, players []string) error {
	slices.Sort(players)
	players = slices.Compact(players)
	if len(players) == 0 {
		return nil
	}
	entries, err := f.boards.Entries(ctx, s.Board, s.Label, players, f.now())
	damaged, some := errors.AsType[boards.DamagedEntries](err)
	if err != nil && !some {
		return f.damaged(ctx, err)
	}
	for _, player := range players {
		state := board.State{Place: boards.Place{Player: player}}
		if e, ok := entries[player]; ok {
			state = board.State{Place: e.Place, Rev: e.Rev, Present: true}
			s.lifetime = s.lifetime.with(lifetime{true, e.Expires})
		}
		top.Take(state)
		s.miss(player, damaged[player])
	}
	return nil
}

// passing tells errors of reading a board that may pass from those of damaged items.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, shard.ErrThrottled) || errors.Is(err, shard.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// damaged marks an error that would come again with the same records.
func (f *topFolder) damaged(ctx context.Context, err error) error {
	if passing(ctx, err) {
		return err
	}
	return fmt.Errorf("%w: %w", parts.ErrUnreadable, err)
}

// deeper is how many times as many places as a top holds are read of an index that
// still shows players who are not there any more.
const deeper = 8

// widen reads the first of the index into a top that is short. One that still is
// short then is noted.
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
		if err := f.take(ctx, s, top, asked); err != nil {
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

// index reads the first n places, and says how far down they reach.
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
