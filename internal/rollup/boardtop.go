package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// Boards is what the folds of tops read of leaderboards. [ddb.Leaderboards] has it.
type Boards interface {
	// Settings returns a board's settings, some seconds old at most.
	Settings(ctx context.Context, board string, now time.Time) (ddb.BoardSettings, error)
	// Entries reads players' entries consistently. Those without one are left out.
	Entries(ctx context.Context, board, period string, players []string, now time.Time) (map[string]ddb.BoardEntry, error)
	// Top reads the first n places of the index, which is eventually consistent.
	Top(ctx context.Context, board, period string, n int, now time.Time) ([]schema.Place, error)
}

// topFolder keeps the tops of boards. All stream shards fold into one item, each
// change of which is conditional on the version that it was made from.
//
// Why a top is exact at rest. Let R be what a top covers: all places down to its
// floor, or all there are. The top holds every player in R, since
//
//   - an entry's write makes a record, and the fold of that reads the top after the
//     write. A player whom the top holds is brought up to date by the record with
//     the higher rev. One who is new in R is asked for: the fold reads the entry,
//     and takes what it is now, whatever the record says. So an old record that
//     comes again can't bring back an old score;
//   - a fold may read an entry, and store the top only after the entry's next
//     record was folded into the top without it, and ignored. So a player who enters
//     is unsure until the entry was read again with the top stored. A fold is
//     done only when all unsure entries of the top were found unchanged; if its
//     process dies before, its records come again, and it is done by another;
//   - R only grows by reading the index.
//
// The index lags. A player whose newest write was before R grew and not in the index
// yet is missing from the part by which it grew. Nothing in the stream will tell.
// So before R grows that is noted, and a scheduled task looks again, at the soonest
// after the recheck age: the index has the write by then. It only fills R as it is,
// so it needs no further look, unless R has to grow again. A top that is too small
// because the index still shows those who left is noted as well.
//
// At rest then, when all records were folded and the task has cleared the notes, a
// top has all players in R as they are, and R is at least as large as readers want.
// Before, it lacks what was not folded yet, and after a reading of a lagging index
// players of the part read, until the task's look: for as long as the recheck age
// and the task's interval.
type topFolder struct {
	client  Client
	table   string
	boards  Boards
	recheck time.Duration
	hold    func(size int) int // entries of a top for readers that want so many
	now     func() time.Time
	log     *slog.Logger
	sure    *otter.Cache[string, int64] // version of a top whose unsure entries were found unchanged
}

// maxTops bounds the tops that a container remembers.
const maxTops = 1000

func newTopFolder(client Client, settings Settings, boards Boards, now func() time.Time, log *slog.Logger) *topFolder {
	return &topFolder{
		client: client, table: settings.RollupsTable, boards: boards, recheck: settings.BoardRecheck, hold: board.Hold, now: now, log: log,
		sure: otter.Must(&otter.Options[string, int64]{MaximumSize: maxTops}),
	}
}

// maxTopRounds bounds how often one fold stores a top, or is refused.
const maxTopRounds = 25

// fold brings a top up to these turns of its board's entries.
func (f *topFolder) fold(ctx context.Context, s *standing) error {
	if err := f.settle(ctx, s, f.turned); err != nil {
		return fmt.Errorf("the top of board %q, period %s: %w", s.board, s.period, err)
	}
	return nil
}

// step returns what becomes of a top for readers that want so many entries.
type step func(ctx context.Context, s *standing, top storedTop, size int) (*board.Top, error)

// settle stores what first makes of a top, and then folds until all in it is sure.
func (f *topFolder) settle(ctx context.Context, s *standing, first step) error {
	size, err := f.size(ctx, s.board)
	if err != nil {
		return err
	}
	top, err := f.load(ctx, s)
	stored, lost := false, 0
	for range maxTopRounds {
		if err != nil {
			return err
		}
		next, err := first(ctx, s, top, size)
		if err != nil {
			return err
		}
		if next.Same(top.Top) {
			f.sure.Set(s.pk(), top.version)
			return nil
		}
		var won bool
		if top, won, err = f.store(ctx, s, top, next); err != nil {
			return err
		}
		switch {
		case won && len(next.Unsure()) == 0:
			return nil
		case won:
			first, stored = f.turned, true
		default:
			lost++
			if top, err = f.wait(ctx, s, top, lost); err != nil {
				return err
			}
		}
	}
	if !stored {
		return fmt.Errorf("others were faster %d times", lost)
	}
	return f.note(ctx, s) // all is in it, but unsure entries change all the time
}

// wait lets others store theirs. The first to have lost goes on at once, from what
// it was answered.
func (f *topFolder) wait(ctx context.Context, s *standing, top storedTop, lost int) (storedTop, error) {
	if lost == 1 {
		return top, nil
	}
	const first, most = 10 * time.Millisecond, 500 * time.Millisecond
	pause := min(first<<min(lost, 10), most)
	select {
	case <-ctx.Done():
		return top, ctx.Err()
	case <-time.After(rand.N(pause)):
	}
	return f.load(ctx, s)
}

// size is how many entries readers want.
func (f *topFolder) size(ctx context.Context, name string) (int, error) {
	settings, err := f.boards.Settings(ctx, name, f.now())
	if err != nil && !passing(ctx, err) {
		f.log.Error("settings can't be read: the default size is taken", "board", name, "error", err)
		return schema.DefaultBoardSize, nil
	}
	return settings.Size, err
}

// passing tells errors of reading a board that may pass from those of damaged items.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ddb.ErrThrottled) || errors.Is(err, ddb.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// turned folds a standing's turns.
func (f *topFolder) turned(ctx context.Context, s *standing, top storedTop, size int) (*board.Top, error) {
	next := top.Clone()
	if version, ok := f.sure.GetIfPresent(s.pk()); ok && version == top.version {
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
func (s *standing) offer(top *board.Top) (asked []string) {
	for _, state := range s.newest() {
		if top.Offer(state) == board.Asks {
			asked = append(asked, state.Player)
		}
	}
	return asked
}

// take reads players' entries into a top.
func (f *topFolder) take(ctx context.Context, s *standing, top *board.Top, players []string) error {
	slices.Sort(players)
	players = slices.Compact(players)
	if len(players) == 0 {
		return nil
	}
	entries, err := f.boards.Entries(ctx, s.board, s.period, players, f.now())
	if err != nil {
		return f.damaged(ctx, err)
	}
	for _, player := range players {
		state := board.State{Place: schema.Place{Player: player}}
		if e, ok := entries[player]; ok {
			state = board.State{Place: e.Place, Rev: e.Rev, Present: true}
		}
		top.Take(state)
	}
	return nil
}

// damaged marks an error that would come again with the same records.
func (f *topFolder) damaged(ctx context.Context, err error) error {
	if passing(ctx, err) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnreadable, err)
}

// deeper is how many times as many places as a top holds are read of an index that
// still shows players who are not there any more.
const deeper = 8

// widen reads the first of the index into a top that is short.
func (f *topFolder) widen(ctx context.Context, s *standing, top *board.Top, size int) error {
	if err := f.note(ctx, s); err != nil {
		return err
	}
	for n := f.hold(size); ; n *= 2 {
		places, last, err := f.index(ctx, s, n)
		if err != nil {
			return err
		}
		top.Widen(last)
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
		if last == nil || !top.Short(size) || n >= deeper*f.hold(size) {
			return nil // one that is short still is looked at again
		}
	}
}

// index reads the first n places, and the last of them, or nil when there are no
// more than these.
func (f *topFolder) index(ctx context.Context, s *standing, n int) (places []schema.Place, last *schema.Place, err error) {
	places, err = f.boards.Top(ctx, s.board, s.period, n, f.now())
	if err != nil {
		return nil, nil, f.damaged(ctx, err)
	}
	if len(places) >= n {
		last = &places[n-1]
	}
	return places, last, nil
}
