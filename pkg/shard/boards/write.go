package boards

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// job is what the writes of one call share.
type job struct {
	l     *Boards
	mode  Mode
	now   time.Time    // of the call
	clock dynamo.Clock // the attempt's
	start time.Time    // by which writes must have started

	request shardmap.Request // what the watcher is told of, if there is something to write
	ask     sync.Once        // tells it
}

// entryWrite is the write of one score in one period: see [Boards].
type entryWrite struct {
	*job
	span
	score PlayerScore

	held  *Entry         // the entry as it was read last, nil for none
	last  int64          // the highest rev that it was seen with
	sent  shardmap.Entry // of the board in the shard map, when the write was made last
	wrote bool
	err   error
}

// take takes over the entry as it is, nil for none.
func (w *entryWrite) take(it dynamo.Item) error {
	w.held = nil
	if it == nil {
		return nil
	}
	held, err := parseEntry(it)
	if err != nil {
		return fmt.Errorf("entry in period %s: %w", w.label, err)
	}
	w.held, w.last = &held, max(w.last, held.Rev)
	return nil
}

// turn returns the place that the score takes the player to from the entry held,
// and whether that is another.
func (w *entryWrite) turn() (Place, bool, error) {
	return turn(w.mode, w.held, w.score, time.UnixMilli(w.now.UnixMilli()).UTC())
}

// rev is the next write's: one more than the entry's, or for an entry that is not
// there the microsecond, beyond what a removal that was seen to happen folds as.
func (w *entryWrite) rev() int64 {
	switch {
	case w.held != nil:
		return w.held.Rev + 1
	case w.last > 0:
		return max(w.clock.Now().UnixMicro(), w.last+2)
	}
	return w.clock.Now().UnixMicro()
}

// put returns the write, on condition that the entry is what it was read to be; nil
// if there is nothing to write. The write shard is that of the newest count.
func (w *entryWrite) put(ctx context.Context) (*types.Put, error) {
	place, changed, err := w.turn()
	if err != nil || !changed {
		return nil, err
	}
	var count int
	w.sent, count = w.l.shards.Newest(ctx, Key(w.board), w.clock.Now())
	put := &types.Put{
		TableName: &w.l.table, Item: w.item(place, w.rev(), count),
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if w.held != nil {
		put.ConditionExpression = aws.String("rev = :rev")
		put.ExpressionAttributeValues = dynamo.Item{":rev": dynamo.Number(w.held.Rev)}
	}
	return put, nil
}

// maxOutrun bounds the times that others may write the entry first within one
// attempt. Going on from what they left needs no read, and mostly no wait.
const maxOutrun = 4

// do writes until the score is in the entry, or needs not be.
func (w *entryWrite) do(ctx context.Context) error {
	if time.Now().After(w.start) {
		return dynamo.ErrUnsent
	}
	if w.mode == Total {
		return dynamo.PersistSum(ctx, w.attempt)
	}
	return dynamo.Persist(ctx, w.attempt)
}

func (w *entryWrite) attempt(ctx context.Context) error {
	for range maxOutrun {
		put, err := w.put(ctx)
		if err != nil || put == nil {
			return err
		}
		w.ask.Do(func() { w.l.watch.Requested(w.request) })
		_, err = w.l.client.PutItem(ctx, dynamo.PutInput(put), dynamo.NoRetry)
		w.tell(ctx, put.Item, err)
		there, outrun := dynamo.ConditionFailed(err)
		if !outrun {
			w.wrote = err == nil
			return err
		}
		if err := w.take(there); err != nil {
			return err
		}
	}
	return dynamo.ErrOutrun
}

// tell tells the watcher how the index fares. An entry that moves from one of its
// partitions to another and is refused most likely met the one that it leaves: that is
// where the board was hot before it grew.
func (w *entryWrite) tell(ctx context.Context, it dynamo.Item, err error) {
	a := shardmap.Attempt{Key: w.request.Key, Request: w.request.ID, Entry: w.sent, At: w.clock.Now()}
	if to, fault := parseEntry(it); fault == nil {
		a.Shard = to.shard
	}
	if err != nil && w.held != nil {
		a.Shard = w.held.shard
	}
	watching.Tell(ctx, w.l.watch, a, err, dynamo.IndexKeyRange)
}
