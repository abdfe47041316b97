package boards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// maxEntryWrites bounds a call's concurrent writes of entries.
const maxEntryWrites = 32

// Submit writes the scores of players. Several scores of one player count as one: the highest,
// the lowest, the last or the sum, by the board's mode. It returns for each score, in order, nil once the score is
// durable in all current periods of the board, or an error:
//
//   - ErrThrottled: none of the player's scores was written;
//   - ErrUnavailable: all, some or none of the player's scores may have been written;
//   - ErrScoreRange: the player's sum would be out of range; other players are not affected.
//
// [errors.Join] makes one error of all; it is nil if all scores are durable.
//
// Repeating a call is harmless with Best, Lowest and Latest. With Total, each repeated call counts again, and
// a score may count twice after a lost connection. SubmitTransact with package once avoids that.
//
// Without conflicts and throttles, Submit makes two round trips: it reads the entries, 100 per
// request, and writes them, 32 at a time. Once in 3 s it reads the board's settings first.
func (l *Boards) Submit(ctx context.Context, board string, scores []PlayerScore, now time.Time) []error {
	outcomes := make([]error, len(scores))
	list, err := l.preparePlayers(ctx, board, scores, now, now)
	if err != nil {
		for i := range outcomes {
			outcomes[i] = err
		}
		return outcomes
	}
	var group errgroup.Group
	group.SetLimit(maxEntryWrites)
	for _, p := range list {
		for _, w := range p.writes {
			if p.err == nil {
				group.Go(func() error { w.err = w.persist(ctx); return nil })
			}
		}
	}
	_ = group.Wait() // errors are per write
	for _, p := range list {
		err := p.outcome()
		if err != nil {
			err = fmt.Errorf("score of player %q on board %q: %w", p.Player, board, err)
		}
		for _, i := range p.indices {
			outcomes[i] = err
		}
	}
	return outcomes
}

// SubmitTransact returns Submit's writes for a transaction of package once: one for each entry that
// changes, on condition that the entry is unchanged since it was read. If the condition fails, package once
// calls SubmitTransact again. A sum out of range fails the whole call. More than 99 writes are ErrTooMany.
// The scores get the call's time, now; the rev of a new entry starts from the attempt's time.
func (l *Boards) SubmitTransact(ctx context.Context, board string, scores []PlayerScore, now, attempt time.Time) ([]shardmap.Write, error) {
	list, err := l.preparePlayers(ctx, board, scores, now, attempt)
	if err != nil {
		return nil, err
	}
	var writes []shardmap.Write
	for _, p := range list {
		for _, w := range p.writes {
			write, ok, err := w.nextWrite(ctx)
			if err = errors.Join(p.err, err); err != nil {
				return nil, fmt.Errorf("score of player %q on board %q: %w", p.Player, board, err)
			}
			if ok {
				writes = append(writes, write)
			}
		}
	}
	if len(writes) > dynamo.MaxTransactActions {
		return nil, fmt.Errorf("scores on board %q: %w: %d entries change, of at most %d; submit fewer players", board, ErrTooMany, len(writes), dynamo.MaxTransactActions)
	}
	return writes, nil
}

// preparePlayers fixes the board's mode, reads the entries that scores may change, and returns each player's writes. A player with an invalid
// entry or sum has an error, and the caller makes none of the player's writes. attemptAt is when the attempt begins.
func (l *Boards) preparePlayers(ctx context.Context, board string, scores []PlayerScore, now, attemptAt time.Time) ([]*playerScores, error) {
	for _, s := range scores {
		if err := observe.CheckNames(s.Player); err != nil {
			return nil, fmt.Errorf("the player of a score on board %q: %w", board, err)
		}
	}
	known, err := l.fixModeAndRead(ctx, board, now)
	if err != nil {
		return nil, err
	}
	list := combineByPlayer(known.Mode, scores)
	call := writeCall{
		boards: l, mode: known.Mode, now: now, clock: dynamo.StartClock(attemptAt), startBy: dynamo.StartBy(ctx), call: observe.Begin(l.observer),
	}
	for _, p := range list {
		call.itemsHash += observe.Hash(p.Player)
	}
	var keys []dynamo.Item
	for _, s := range l.boardPeriods(board, known.Periods, now) {
		for _, p := range list {
			p.writes = append(p.writes, &entryWrite{writeCall: &call, boardPeriod: s, score: p.PlayerScore})
			keys = append(keys, dynamo.Key(schema.EntryKey(board, s.label, p.Player)))
		}
	}
	items, err := dynamo.BatchGet(ctx, l.client, l.table, keys, true)
	if err != nil {
		return nil, fmt.Errorf("reading entries of board %q: %w", board, err)
	}
	byPK := make(map[string]dynamo.Item, len(items))
	for _, it := range items {
		byPK[dynamo.Text(it, schema.PK)] = it
	}
	for _, p := range list {
		p.setStored(byPK)
	}
	return list, nil
}

// setStored sets the stored entry of each write; byPK has the items that were read, by partition key. It sets the
// player's error if an entry is invalid or a sum is out of range.
func (p *playerScores) setStored(byPK map[string]dynamo.Item) {
	for _, w := range p.writes {
		pk, _ := schema.EntryKey(w.board, w.label, p.Player)
		err := w.setStored(byPK[pk])
		if err == nil {
			_, _, err = w.nextPlace() // the sum may be out of range
		}
		p.err = errors.Join(p.err, err)
	}
}

// outcome returns the worst error of a player's writes, or nil. If one period was written and another failed, the error
// is ErrUnavailable, since the caller takes other errors to mean that nothing was written.
func (p *playerScores) outcome() error {
	if p.err != nil {
		return p.err
	}
	var worst error
	wrote := false
	for _, w := range p.writes {
		wrote = wrote || w.wrote
		isWorse := worst == nil || errors.Is(worst, shard.ErrThrottled)
		if w.err != nil && isWorse {
			worst = fmt.Errorf("period %s: %w", w.label, w.err)
		}
	}
	if worst != nil && wrote && !errors.Is(worst, shard.ErrUnavailable) {
		return fmt.Errorf("%w: another period was written: %v", shard.ErrUnavailable, worst)
	}
	return worst
}
