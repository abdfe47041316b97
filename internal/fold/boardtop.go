package fold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Boards has the aggregator's calls to leaderboards. [boards.Boards] implements it.
type Boards interface {
	// Settings returns a board's settings, which may be some seconds old.
	Settings(ctx context.Context, board string, now time.Time) (boards.Settings, error)
	// Entries returns players' entries, read consistently. It omits players without an entry.
	Entries(ctx context.Context, board, period string, players []string, now time.Time) (map[string]boards.Entry, error)
	// Top returns the first n places of the index, which is eventually consistent.
	Top(ctx context.Context, board, period string, n int, now time.Time) ([]boards.Place, error)
	// MoveRows moves players' outdated rows in the index, and returns how many.
	MoveRows(ctx context.Context, board, period string, players []string, now time.Time) (int, error)
}

// topFolder keeps the tops of boards. All stream shards fold into one item, and each change is
// conditional on the version that it was made from.
//
// Why a top is exact at rest. Let R be the range that a top covers: all places down to its
// last, or all places. The top holds every player in R, because
//
//   - an entry's write makes a record, and the fold of the record reads the top after the
//     write. The record with the higher rev updates a player whom the top holds. For a new
//     player in R the fold reads the entry itself, whatever the record has. So a redelivered
//     record can't bring back an old score;
//   - a fold may read an entry, and store the top only after the entry's next record was
//     folded into the top without it, and ignored. So a player who enters is unsure until
//     the entry was read again with the top stored. A fold is done only when all unsure
//     entries of the top were found unchanged. If its process dies before, its records are
//     redelivered, and another fold finishes;
//   - R only grows by reading the index, and for a top that is rebuilt. An entry with an outdated row
//     may be missed then; the record of the row's move offers it to the top.
//
// A fold doesn't read the top if the old and new places of all its records lie beyond the reach that its container cached
// at most 10 s ago, when all entries of the top were sure. Let c be the time of the cached read. If R has not grown since
// c, no place of the records is in R, and no held player has one: a fold that read the top would ignore them, too. The
// old place matters as much as the new one: another container may have let the player in since c, by a read of the entry.
// If R has grown since c, it was noted at a time g > c. The records were written before c + 10 s, and the note is not
// cleared by a recheck that began before g plus the recheck age. A fold that died with unsure entries is finished all the
// same when its records are redelivered: if their places are beyond R now, R shrank after its store, so the read at c
// came later and found the entries sure.
//
// If one of these conditions fails, the board's period is noted, and a scheduled task rechecks the top after the recheck
// age at the earliest. A recheck reads the entries of all players in the top and of the first in the index. So it repairs
// everything that was written long enough before it for the index to have it:
//
//   - R has grown. The index lags: a player whose newest write was before R grew and is not
//     in the index yet is missing from the new range, and no record in the stream shows it.
//     The same holds for a first top. It counts as whole, because every entry's record
//     arrives, but an earlier top or records may have been lost. The note is stored before
//     the top and again after it.
//   - A fold gives up: the top is too busy, or throttled, or can't be reached in time. Its
//     records are not redelivered. Their writes precede the note, and a recheck reads the
//     entries that the fold left unsure.
//   - A record can't be folded, or Lambda gave it up.
//   - The top is too small because the index still shows players who left.
//
// A recheck only fills R as it is. It needs no further recheck, unless R has to grow again or the index doesn't reach its
// end. Like a fold, it is done when all that it stored is sure; otherwise the note stays.
//
// At rest all records are folded and the task has cleared the notes. Then a top has all
// players in R as they are, and R is at least as large as readers want. Before, it lacks what
// is not folded yet, and what is noted: for the recheck age and the task's interval.
//
// A process may be slow, or die, between the note and the store. Then a recheck may come first and clear the note. It has
// read the entries that the fold had, or newer ones, so it has stored the change that made the top too small, and the
// fold's store fails its condition. Two cases remain: a board whose size was raised when the fold read it and lowered at
// the recheck, and a top that is lost while the index is empty. The second note is for these; a process that dies just
// before it leaves the top as it is.
type topFolder struct {
	client   Client
	table    string
	boards   Boards
	recheck  time.Duration
	capacity func(size int) int // returns how many entries a top holds for readers that want size
	lost     int                // stores of one fold that may fail their condition
	now      func() time.Time
	log      *slog.Logger
	cache    dynamo.Cache[cachedTop]
}

// maxTops bounds the tops that a container caches.
const maxTops = 1000

func newTopFolder(client Client, settings Settings, boards Boards, now func() time.Time, log *slog.Logger) *topFolder {
	return &topFolder{
		client: client, table: settings.RollupsTable, boards: boards, recheck: settings.BoardRecheck, capacity: parts.TopSize, lost: maxTopLost, now: now, log: log,
		cache: dynamo.NewCache[cachedTop](maxTops),
	}
}

// Bounds of one fold.
const (
	maxTopRounds = 25               // attempts to store a top
	maxTopLost   = 6                // of them with a failed condition; not for rechecks of the task
	maxTopTime   = 10 * time.Second // for the whole fold
)

// fold folds changes of a board's entries into its top. If the top is too busy, fold leaves it to the
// boards task, because the rest of the batch must not wait.
func (f *topFolder) fold(ctx context.Context, changes *boardChanges) error {
	if f.allBeyondReach(changes) {
		return nil
	}
	copied := *changes // storeAndRefold changes its lifetime and its damaged entries
	s := &copied
	limited, cancel := context.WithTimeout(ctx, maxTopTime)
	defer cancel()
	err := f.storeAndRefold(limited, s, f.foldEntries, f.lost)
	busy := errors.Is(err, dynamo.ErrOutrun) || errors.Is(dynamo.Classify(err), shard.ErrThrottled) || limited.Err() != nil
	if err != nil && busy && ctx.Err() == nil {
		f.log.Warn("a top is busy: the boards task rechecks it", "board", s.Board, "period", s.Label, "error", err)
		err = f.noteRecheck(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("folding into the top of board %q, period %s: %w", s.Board, s.Label, err)
	}
	return s.damagedErr()
}

// topStep returns the next top for readers that want size entries.
type topStep func(ctx context.Context, s *boardChanges, top storedTop, size int) (*parts.Top, error)

// storeAndRefold stores the result of step, and then folds until every entry in the top is sure. It returns
// dynamo.ErrOutrun after more than mostLost failed conditions in a round, or if an entry is unsure after maxTopRounds.
func (f *topFolder) storeAndRefold(ctx context.Context, s *boardChanges, step topStep, mostLost int) error {
	size, err := f.boardSize(ctx, s.Board)
	if err != nil {
		return err
	}
	began := f.now().Round(0)
	top, err := f.loadTop(ctx, s)
	if err != nil {
		return err
	}
	for range maxTopRounds {
		stored, err := f.storeTop(ctx, s, &top, func(top storedTop) (*parts.Top, error) { return step(ctx, s, top, size) }, mostLost)
		if err != nil {
			return err
		}
		if !stored || len(top.UnsurePlayers()) == 0 {
			f.cache.Set(s.PK(), cachedTop{top.version, top.Reach, began})
			return nil
		}
		step = f.foldEntries
	}
	return fmt.Errorf("after %d rounds: %w", maxTopRounds, dynamo.ErrOutrun)
}

// boardSize returns a board's size. If its settings are damaged, it logs this and returns the default size.
func (f *topFolder) boardSize(ctx context.Context, name string) (int, error) {
	settings, err := f.boards.Settings(ctx, name, f.now())
	if err != nil && !isTemporary(ctx, err) {
		f.log.Error("a board's settings can't be read: the default size is used", "board", name, "error", err)
		return schema.DefaultBoardSize, nil
	}
	return settings.Size, err
}

// foldEntries is the topStep that folds the changes of entries into a top.
func (f *topFolder) foldEntries(ctx context.Context, s *boardChanges, top storedTop, size int) (*parts.Top, error) {
	next := top.Clone()
	if known, ok := f.cache.Get(s.PK()); ok && known.version == top.version {
		next.MarkSure() // the cache has only tops whose entries were all found sure
	}
	unread := s.foldRecords(next)
	if err := f.readPlayers(ctx, s, next, append(unread, next.UnsurePlayers()...)); err != nil {
		return nil, err
	}
	next.Trim(f.capacity(size))
	if next.IsShort(size) {
		if err := f.widen(ctx, s, next, size); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// foldRecords folds the latest state of each player into a top. It returns the players whose entries must be read.
func (s *boardChanges) foldRecords(top *parts.Top) (unread []string) {
	for _, state := range s.newestStates() {
		if top.FoldRecord(state) {
			unread = append(unread, state.Player)
		}
	}
	return unread
}

// readPlayers reads the entries of players, and folds them into a top. A damaged entry gets no place.
func (f *topFolder) readPlayers(ctx context.Context, s *boardChanges, top *parts.Top, players []string) error {
	slices.Sort(players)
	players = slices.Compact(players)
	if len(players) == 0 {
		return nil
	}
	entries, err := f.boards.Entries(ctx, s.Board, s.Label, players, f.now())
	damaged, onlyDamaged := errors.AsType[boards.DamagedEntries](err)
	if err != nil && !onlyDamaged {
		return f.unreadableErr(ctx, err)
	}
	for _, player := range players {
		state := parts.EntryState{Place: boards.Place{Player: player}}
		if e, ok := entries[player]; ok {
			state = parts.EntryState{Place: e.Place, Rev: e.Rev, Present: true}
			s.lifetime = s.lifetime.longer(lifetime{true, e.Expires})
		}
		top.FoldEntry(state)
		s.setDamaged(player, damaged[player])
	}
	return nil
}

// isTemporary reports whether another read of a board may succeed. It is false for errors such as a damaged item's.
func isTemporary(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, shard.ErrThrottled) || errors.Is(err, shard.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// unreadableErr wraps an error that is not temporary in parts.ErrUnreadable.
func (f *topFolder) unreadableErr(ctx context.Context, err error) error {
	if isTemporary(ctx, err) {
		return err
	}
	return fmt.Errorf("%w: %w", parts.ErrUnreadable, err)
}
