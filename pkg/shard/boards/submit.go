package boards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// maxEntryWrites bounds the entries written at a time for one call.
const maxEntryWrites = 32

// Submit sends the scores of players, of which one that occurs several times
// counts as one with the highest, the last or the sum of them. It returns for each
// score, in order, nil once it is durable in all the board's periods that hold
// now, or an error:
//
//   - ErrThrottled: nothing of the player's was written;
//   - ErrUnavailable: all, some or nothing of it may have been;
//   - ErrScoreRange: its sum would be out of range; the others go on.
//
// [errors.Join] makes one error of all, nil if all are durable.
//
// Repeating a call is harmless with Best and Latest. Totals may count once more
// for every answer that was lost, within a call or by one that is repeated. Package once, with
// SubmitTransact, is for callers who can't have that.
//
// A call is two round trips when nothing gets in its way: the entries, 100 a read,
// and their writes, 32 at a time. The board's settings come before, once in 3 s.
func (l *Boards) Submit(ctx context.Context, board string, scores []PlayerScore, now time.Time) []error {
	outcomes := make([]error, len(scores))
	list, err := l.prepare(ctx, board, scores, now, now)
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
				group.Go(func() error { w.err = w.do(ctx); return nil })
			}
		}
	}
	_ = group.Wait() // errors are per write
	for _, p := range list {
		err := p.outcome()
		if err != nil {
			err = fmt.Errorf("score of player %q on board %q: %w", p.Player, board, err)
		}
		for _, place := range p.places {
			outcomes[place] = err
		}
	}
	return outcomes
}

// SubmitTransact returns Submit's writes as actions of a transaction, one for
// each player and period that changes, on condition that the entries are still
// what they were read to be. Package once calls it anew when that was not so. A sum out
// of range is the whole call's error. A transaction has room for 99 actions; more are
// ErrTooMany. Now is the call's time, which its scores have; attempt is that of this
// attempt, which an entry that was removed since the call began is made again with.
func (l *Boards) SubmitTransact(ctx context.Context, board string, scores []PlayerScore, now, attempt time.Time) ([]types.TransactWriteItem, error) {
	list, err := l.prepare(ctx, board, scores, now, attempt)
	if err != nil {
		return nil, err
	}
	var actions []types.TransactWriteItem
	for _, p := range list {
		for _, w := range p.writes {
			put, err := w.put(ctx)
			if err = errors.Join(p.err, err); err != nil {
				return nil, fmt.Errorf("score of player %q on board %q: %w", p.Player, board, err)
			}
			if put != nil {
				actions = append(actions, types.TransactWriteItem{Put: put})
			}
		}
	}
	if len(actions) > dynamo.MaxActions {
		return nil, fmt.Errorf("scores on board %q: %d entries change, and a transaction has room for %d: %w", board, len(actions), dynamo.MaxActions, ErrTooMany)
	}
	return actions, nil
}

// prepare reads the entries that scores may change, and says what each player's
// writes are. A player has an error, and writes nothing, if any of them can't be.
func (l *Boards) prepare(ctx context.Context, board string, scores []PlayerScore, now, attempt time.Time) ([]*play, error) {
	known, err := l.settled(ctx, board, now)
	if err != nil {
		return nil, err
	}
	list := plays(known.Mode, scores)
	job := job{l: l, mode: known.Mode, now: now, clock: dynamo.StartClock(attempt), start: dynamo.StartBy(ctx)}
	job.request = shardmap.Request{Key: Key(board), At: now}
	for _, p := range list {
		job.request.ID += watching.Hash(p.Player)
	}
	var keys []dynamo.Item
	for _, s := range l.spans(board, known.Periods, now) {
		for _, p := range list {
			p.writes = append(p.writes, &entryWrite{job: &job, span: s, score: p.PlayerScore})
			keys = append(keys, dynamo.Key(schema.EntryKey(board, s.label, p.Player)))
		}
	}
	items, err := dynamo.BatchGet(ctx, l.client, l.table, keys, true)
	if err != nil {
		return nil, fmt.Errorf("reading entries of board %q: %w", board, err)
	}
	held := make(map[string]dynamo.Item, len(items))
	for _, it := range items {
		held[dynamo.Text(it, schema.PK)] = it
	}
	for _, p := range list {
		p.take(held)
	}
	return list, nil
}

// take hands each write the entry that is there.
func (p *play) take(held map[string]dynamo.Item) {
	for _, w := range p.writes {
		pk, _ := schema.EntryKey(w.board, w.label, p.Player)
		err := w.take(held[pk])
		if err == nil {
			_, _, err = w.turn()
		}
		p.err = errors.Join(p.err, err)
	}
}

// outcome is what became of a player's writes. Once one of several periods is
// written, the failure of another is no clean refusal any more.
func (p *play) outcome() error {
	if p.err != nil {
		return p.err
	}
	var worst error
	wrote := false
	for _, w := range p.writes {
		wrote = wrote || w.wrote
		if w.err != nil && (worst == nil || errors.Is(worst, shard.ErrThrottled)) {
			worst = fmt.Errorf("period %s: %w", w.label, w.err)
		}
	}
	if worst != nil && wrote && !errors.Is(worst, shard.ErrUnavailable) {
		return fmt.Errorf("%w: another period was written: %v", shard.ErrUnavailable, worst)
	}
	return worst
}
