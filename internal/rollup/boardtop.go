package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
)

// Boards is what the folds of tops read of leaderboards. [boards.Boards] has it.
type Boards interface {
	// Settings returns a board's settings, some seconds old at most.
	Settings(ctx context.Context, board string, now time.Time) (boards.Settings, error)
	// Entries reads players' entries consistently. Those without one are left out.
	Entries(ctx context.Context, board, period string, players []string, now time.Time) (map[string]boards.Entry, error)
	// Top reads the first n places of the index, which is eventually consistent.
	Top(ctx context.Context, board, period string, n int, now time.Time) ([]boards.Place, error)
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
//   - R only grows by reading the index, and for a top that is made anew.
//
// Where one of that does not hold, the board's period is noted, and a scheduled task
// looks again, at the soonest after the recheck age. A look reads the entries of
// all whom the top holds and of the first in the index, so it makes good all that was
// written long enough before it for the index to have it:
//
//   - R has grown. The index lags: a player whose newest write was before R grew and
//     not in the index yet is missing from the part by which it grew, and nothing in
//     the stream will tell. So too for a top that is stored where there was none: it
//     is taken for whole, since every entry's record comes, but the one before may
//     have been lost, or records of it. The note is put before the top is stored and
//     again after it.
//   - A fold gives up: the top is too busy, or throttled, or can't be reached in
//     time. Its records don't come again. What they say was written before the note,
//     and entries that it left unsure are among those that a look reads.
//   - A record can't be folded, or was given to the failure destination.
//   - The top is too small because the index still shows those who left.
//
// A look only fills R as it is, so it needs no further look, unless R has to grow
// again or the index doesn't reach down to its floor. It is done when all it has
// stored is sure, as a fold is; else the note stays.
//
// At rest then, when all records were folded and the task has cleared the notes, a
// top has all players in R as they are, and R is at least as large as readers want.
// Before, it lacks what was not folded yet, and what is noted until the task's look:
// for as long as the recheck age and the task's interval.
//
// A process may be slow, or die, between the note and the store. Then a look may come
// first and clear the note. But it has read the entries that the fold had, or newer
// ones, so it has stored what made the top too small, and the fold's store is refused.
// That leaves a board whose size was raised when the fold read it and lowered when the
// look did, and a top that is lost while the index has nobody yet: for those is the
// second note, without which a process that dies just then leaves the top as it is.
type topFolder struct {
	client  Client
	table   string
	boards  Boards
	recheck time.Duration
	hold    func(size int) int // entries of a top for readers that want so many
	lost    int                // stores of one fold that may be refused
	looks   int                // at tops, of one run of the task
	now     func() time.Time
	log     *slog.Logger
	sure    *otter.Cache[string, int64] // version of a top whose unsure entries were found unchanged
	told    *otter.Cache[string, bool]  // sort keys of notes that can't be read, of which the log has been told
}

// maxTops bounds the tops that a container remembers.
const maxTops = 1000

func newTopFolder(client Client, settings Settings, boards Boards, now func() time.Time, log *slog.Logger) *topFolder {
	return &topFolder{
		client: client, table: settings.RollupsTable, boards: boards, recheck: settings.BoardRecheck, hold: board.Hold, lost: maxTopLost, looks: maxLooks, now: now, log: log,
		sure: otter.Must(&otter.Options[string, int64]{MaximumSize: maxTops}),
		told: otter.Must(&otter.Options[string, bool]{MaximumSize: maxTops}),
	}
}

// Bounds of one fold.
const (
	maxTopRounds = 25               // how often a top is stored, or is refused
	maxTopLost   = 6                // of them refused, but for looks of the task
	maxTopTime   = 10 * time.Second // for all of it
)

// errOutrun: others stored the top, again and again.
var errOutrun = errors.New("others were faster")

// fold brings a top up to these turns of its board's entries, or leaves that to the
// task: a top that is too busy must not hold up what else is in the batch.
func (f *topFolder) fold(ctx context.Context, of *standing) error {
	s := of.own()
	limited, cancel := context.WithTimeout(ctx, maxTopTime)
	defer cancel()
	err := f.settle(limited, s, f.turned, f.lost)
	if busy := errors.Is(err, errOutrun) || errors.Is(dynamo.Kind(err), shard.ErrThrottled) || limited.Err() != nil; busy && err != nil && ctx.Err() == nil {
		f.log.Warn("a top is busy: it is looked at again later", "board", s.board, "period", s.period, "error", err)
		err = f.note(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("the top of board %q, period %s: %w", s.board, s.period, err)
	}
	return s.parked()
}

// step returns what becomes of a top for readers that want so many entries.
type step func(ctx context.Context, s *standing, top storedTop, size int) (*board.Top, error)

// settle stores what first makes of a top, and then folds until all in it is sure.
// With errOutrun it has lost so often, or there always was something unsure.
func (f *topFolder) settle(ctx context.Context, s *standing, first step, mostLost int) error {
	size, err := f.size(ctx, s.board)
	if err != nil {
		return err
	}
	top, err := f.load(ctx, s)
	lost := 0
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
		if top, won, err = f.keep(ctx, s, top, next); err != nil {
			return err
		}
		switch {
		case won && len(next.Unsure()) == 0:
			return nil
		case won:
			first = f.turned
		case lost == mostLost:
			return fmt.Errorf("%w %d times", errOutrun, lost+1)
		default:
			lost++
			if top, err = f.wait(ctx, s, top, lost); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("after %d rounds: %w", maxTopRounds, errOutrun)
}

// keep stores a top. If that reaches further than the one before, it is noted: before,
// lest the process dies in between, and after, since a look may have cleared the note
// by then.
func (f *topFolder) keep(ctx context.Context, s *standing, was storedTop, next *board.Top) (now storedTop, won bool, err error) {
	wider := was.version == 0 || next.Wider(was.Top)
	if wider {
		if err := f.note(ctx, s); err != nil {
			return was, false, err
		}
	}
	now, won, err = f.store(ctx, s, was, next)
	if wider && (won || err != nil) { // it may have been stored
		err = errors.Join(err, f.note(ctx, s))
	}
	return now, won, err
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
