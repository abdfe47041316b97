package boards

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// writeCall has the values that all writes of a call share.
type writeCall struct {
	l       *Boards
	mode    Mode
	now     time.Time    // of the call
	clock   dynamo.Clock // the attempt's time
	startBy time.Time    // later writes are not sent

	call  observe.Call
	items uint64 // a hash of the call's players
}

// entryWrite is the write of one player's score in one period: see [Boards].
type entryWrite struct {
	*writeCall
	span
	score PlayerScore

	held  *Entry // the entry as last read; nil if there is none
	last  int64  // the highest rev read so far
	wrote bool
	err   error
}

// setHeld sets held from the entry's item; nil means that there is none.
func (w *entryWrite) setHeld(it dynamo.Item) error {
	w.held = nil
	if it == nil {
		return nil
	}
	held, err := ParseEntry(it)
	if err != nil {
		return fmt.Errorf("entry in period %s: %w", w.label, err)
	}
	w.held, w.last = &held, max(w.last, held.Rev)
	return nil
}

// nextPlace returns the player's place after the score, and whether it differs from the entry's.
func (w *entryWrite) nextPlace() (Place, bool, error) {
	return nextPlace(w.mode, w.held, w.score, time.UnixMilli(w.now.UnixMilli()).UTC())
}

// nextRev returns the rev of the next write: the entry's plus one. A new entry's is the time in
// microseconds. If this call saw the entry before it was removed, it is also above the removal's rev,
// which folds use.
func (w *entryWrite) nextRev() int64 {
	switch {
	case w.held != nil:
		return w.held.Rev + 1
	case w.last > 0:
		return max(w.clock.Now().UnixMicro(), w.last+2)
	}
	return w.clock.Now().UnixMicro()
}

// prepare returns a write of the entry, which fails if the entry has changed since it was read. ok is false
// if the score changes nothing. The row's write shard is calculated from the newest shard count.
func (w *entryWrite) prepare(ctx context.Context) (write shardmap.Write, ok bool, err error) {
	place, changed, err := w.nextPlace()
	if err != nil || !changed {
		return write, false, err
	}
	now := w.clock.Now()
	entry, count := w.l.shards.Newest(ctx, Key(w.board), now)
	n := shard.Calculated(w.score.Player, count)
	put := &types.Put{
		TableName: &w.l.table, Item: w.item(place, w.nextRev(), n),
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if w.held != nil {
		put.ConditionExpression = aws.String("rev = :rev")
		put.ExpressionAttributeValues = dynamo.Item{":rev": dynamo.Number(w.held.Rev)}
	}
	attempt := observe.Sent(schema.Board, Key(w.board), entry, n, now)
	attempt.Items = observe.Hash(w.score.Player)
	partition := schema.BoardShardKey(w.board, w.label, n)
	probe := observe.IndexProbe(schema.BoardShard, partition)
	probe[schema.RankKey] = dynamo.String(schema.ProbeSK) // sorts after all places
	return shardmap.Write{Action: types.TransactWriteItem{Put: put}, Attempt: attempt, Probe: probe}, true, nil
}

// maxOutrun bounds how often an attempt writes again after another writer changed the entry first.
// The failed condition returns the entry, so no read is needed, and usually no wait.
const maxOutrun = 4

// persist writes until the entry has the score, or the score changes nothing.
func (w *entryWrite) persist(ctx context.Context) error {
	if time.Now().After(w.startBy) {
		return dynamo.ErrUnsent
	}
	if w.mode == Total {
		return dynamo.PersistSum(ctx, w.attempt)
	}
	return dynamo.Persist(ctx, w.attempt)
}

// attempt writes the entry, and again if another writer changed it first.
func (w *entryWrite) attempt(ctx context.Context) error {
	for range maxOutrun {
		write, ok, err := w.prepare(ctx)
		if err != nil || !ok {
			return err
		}
		_, err = w.l.client.PutItem(ctx, dynamo.PutInput(write.Action.Put), dynamo.NoRetry)
		err = w.observe(ctx, write.Attempt, err)
		if w.l.deferRows && w.held != nil && observe.PartitionFull(write.Attempt.Kind, err) {
			_, err = w.l.client.UpdateItem(ctx, w.updateWithoutRow(write.Action.Put), dynamo.NoRetry)
		}
		there, outrun := dynamo.ConditionFailed(err)
		if !outrun {
			w.wrote = err == nil
			return err
		}
		if err := w.setHeld(there); err != nil {
			return err
		}
	}
	return dynamo.ErrOutrun
}

// updateWithoutRow returns the update that writes what put does, except the entry's row in the index.
func (w *entryWrite) updateWithoutRow(put *types.Put) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: put.TableName, Key: dynamo.Key(schema.EntryKey(w.board, w.label, w.score.Player)),
		UpdateExpression:         aws.String("SET #score = :score, #at = :at, #rev = :next"),
		ConditionExpression:      aws.String("#rev = :rev"),
		ExpressionAttributeNames: map[string]string{"#score": schema.EntryScore, "#at": schema.EntryAt, "#rev": schema.EntryRev},
		ExpressionAttributeValues: dynamo.Item{
			":score": put.Item[schema.EntryScore], ":at": put.Item[schema.EntryAt], ":next": put.Item[schema.EntryRev],
			":rev": dynamo.Number(w.held.Rev),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// observe reports an attempt. A failed attempt is reported for the write shard of the stored row: after a
// growth, that shard's hot partition most likely throttled the move of the row.
func (w *entryWrite) observe(ctx context.Context, a shard.Attempt, err error) error {
	a.Items = w.items
	if err != nil && w.held != nil {
		a.Shard = w.held.shard
	}
	return w.call.Observe(ctx, a, err)
}
