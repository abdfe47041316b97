package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/memo"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
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
//   - A record can't be folded, or Lambda gave it up.
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
	now     func() time.Time
	log     *slog.Logger
	sure    memo.Memo[int64] // version of a top whose unsure entries were found unchanged
}

// maxTops bounds the tops that a container remembers.
const maxTops = 1000

func newTopFolder(client Client, settings Settings, boards Boards, now func() time.Time, log *slog.Logger) *topFolder {
	return &topFolder{
		client: client, table: settings.RollupsTable, boards: boards, recheck: settings.BoardRecheck, hold: board.Hold, lost: maxTopLost, now: now, log: log,
		sure: memo.New[int64](maxTops),
	}
}

// Bounds of one fold.
const (
	maxTopRounds = 25               // how often a top is stored, or is refused
	maxTopLost   = 6                // of them refused, but for looks of the task
	maxTopTime   = 10 * time.Second // for all of it
)

// fold brings a top up to these turns of its board's entries, or leaves that to the
// task: a top that is too busy must not hold up what else is in the batch.
func (f *topFolder) fold(ctx context.Context, of *boardNews) error {
	s := of.own()
	limited, cancel := context.WithTimeout(ctx, maxTopTime)
	defer cancel()
	err := f.settle(limited, s, f.turned, f.lost)
	if busy := errors.Is(err, dynamo.ErrOutrun) || errors.Is(dynamo.Kind(err), shard.ErrThrottled) || limited.Err() != nil; busy && err != nil && ctx.Err() == nil {
		f.log.Warn("a top is busy: it is looked at again later", "board", s.Board, "period", s.Label, "error", err)
		err = f.note(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("the top of board %q, period %s: %w", s.Board, s.Label, err)
	}
	return s.parked()
}

// step returns what becomes of a top for readers that want so many entries.
type step func(ctx context.Context, s *boardNews, top storedTop, size int) (*board.Top, error)

// settle stores what first makes of a top, and then folds until all in it is sure. With
// dynamo.ErrOutrun a store was refused so often, or there always was something unsure.
func (f *topFolder) settle(ctx context.Context, s *boardNews, first step, mostLost int) error {
	size, err := f.size(ctx, s.Board)
	if err != nil {
		return err
	}
	top, err := f.load(ctx, s)
	if err != nil {
		return err
	}
	for range maxTopRounds {
		stored, err := f.store(ctx, s, &top, func(top storedTop) (*board.Top, error) { return first(ctx, s, top, size) }, mostLost)
		switch {
		case err != nil:
			return err
		case !stored:
			f.sure.Set(s.PK(), top.version)
			return nil
		case len(top.Unsure()) == 0:
			return nil
		}
		first = f.turned
	}
	return fmt.Errorf("after %d rounds: %w", maxTopRounds, dynamo.ErrOutrun)
}

// store stores what change makes of a top, which is what is stored then, unless that is
// the same. One that reaches further than the one before is noted: before, lest the
// process dies in between, and after, since a look may have cleared the note by then.
func (f *topFolder) store(ctx context.Context, s *boardNews, top *storedTop, change func(storedTop) (*board.Top, error), mostLost int) (stored bool, err error) {
	var next storedTop
	wider, lost := false, 0
	err = dynamo.Guarded(ctx, f.client, mostLost+1, func() (*dynamodb.UpdateItemInput, error) {
		to, err := change(*top)
		stored = err == nil && !to.Same(top.Top)
		if !stored {
			return nil, err
		}
		next = top.next(to, s.lifetime, f.now())
		wider = top.version == 0 || to.Wider(top.Reach)
		if wider {
			err = f.note(ctx, s)
		}
		return f.update(s, *top, next), err
	}, func(found dynamo.Item) (err error) {
		lost++
		*top, err = f.wait(ctx, s, f.found(s, found), lost)
		return err
	})
	if stored && wider { // it may have been stored also if err says that it wasn't
		err = errors.Join(err, f.note(ctx, s))
	}
	if stored && err == nil {
		*top = next
	}
	return stored, err
}

// wait lets others store theirs. The first to have lost goes on at once, from what
// it was answered.
func (f *topFolder) wait(ctx context.Context, s *boardNews, top storedTop, lost int) (storedTop, error) {
	if lost == 1 {
		return top, nil
	}
	const first, most = 10 * time.Millisecond, 500 * time.Millisecond
	pause := min(first<<min(lost, 10), most)
	if !dynamo.Pause(ctx, rand.N(pause)) {
		return top, ctx.Err()
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
