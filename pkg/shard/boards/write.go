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
	boards  *Boards
	mode    Mode
	now     time.Time    // the scores' time
	clock   dynamo.Clock // runs from the attempt's time; revs of new entries start from its time
	startBy time.Time    // no write is sent after this time

	call      observe.Call
	itemsHash uint64 // a hash of the call's players
}

// entryWrite is the write of one player's score in one period: see [Boards].
type entryWrite struct {
	*writeCall
	boardPeriod
	score PlayerScore

	stored     *Entry // the entry as last read; nil if there is none
	highestRev int64  // of all reads of the entry
	wrote      bool   // the entry was written
	err        error  // why the write failed; nil also if the score changes nothing
}

// setStored sets w.stored to the entry of an item that was read; a nil item means that there is no entry.
func (w *entryWrite) setStored(it dynamo.Item) error {
	w.stored = nil
	if it == nil {
		return nil
	}
	entry, err := ParseEntry(it)
	if err != nil {
		return fmt.Errorf("reading the entry in period %s: %w", w.label, err)
	}
	w.stored, w.highestRev = &entry, max(w.highestRev, entry.Rev)
	return nil
}

// nextPlace returns the player's place after the score. If changed is false, the entry stays as it is; don't use place.
func (w *entryWrite) nextPlace() (place Place, changed bool, err error) {
	return nextPlace(w.mode, w.stored, w.score, time.UnixMilli(w.now.UnixMilli()).UTC())
}

// nextRev returns the rev of the next write. It is the entry's rev plus one, or for a new entry the time in
// microseconds. If the entry was removed during this call, the rev is also above that of the removal in folds.
func (w *entryWrite) nextRev() int64 {
	switch {
	case w.stored != nil:
		return w.stored.Rev + 1
	case w.highestRev > 0:
		return max(w.clock.Now().UnixMicro(), w.highestRev+2)
	}
	return w.clock.Now().UnixMicro()
}

// nextWrite returns a write of the entry, on condition that the entry is unchanged since it was read. ok is false
// if the score changes nothing. The row's write shard is calculated from the newest shard count.
func (w *entryWrite) nextWrite(ctx context.Context) (write shardmap.Write, ok bool, err error) {
	place, changed, err := w.nextPlace()
	if err != nil || !changed {
		return write, false, err
	}
	now := w.clock.Now()
	entry, count := w.boards.shards.Newest(ctx, Key(w.board), now)
	n := shard.Calculated(w.score.Player, count)
	put := &types.Put{
		TableName: &w.boards.table, Item: w.item(place, w.nextRev(), n),
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if w.stored != nil {
		put.ConditionExpression = aws.String("rev = :rev")
		put.ExpressionAttributeValues = dynamo.Item{":rev": dynamo.Number(w.stored.Rev)}
	}
	attempt := observe.NewAttempt(schema.Board, Key(w.board), entry, n, now)
	attempt.Items = observe.Hash(w.score.Player)
	partition := schema.BoardShardKey(w.board, w.label, n)
	probe := observe.IndexProbe(schema.BoardShard, partition)
	probe[schema.RankKey] = dynamo.String(schema.ProbeSK) // sorts after all places
	return shardmap.Write{Action: types.TransactWriteItem{Put: put}, Attempt: attempt, Probe: probe}, true, nil
}

// maxOutrun bounds the writes of an attempt. Each but the first follows a write whose condition failed, since another
// writer changed the entry. The failed condition returns the changed entry, so the next write needs no read.
const maxOutrun = 4

// persist writes the entry, in several attempts if needed, unless the score changes nothing. After startBy it sends
// nothing, and returns dynamo.ErrUnsent.
func (w *entryWrite) persist(ctx context.Context) error {
	if time.Now().After(w.startBy) {
		return dynamo.ErrUnsent
	}
	if w.mode == Total {
		return dynamo.PersistSum(ctx, w.attempt)
	}
	return dynamo.Persist(ctx, w.attempt)
}

// attempt writes the entry, in up to maxOutrun tries. If deferRows is set and the index throttles the write of an entry
// that exists, attempt writes the entry without its row.
func (w *entryWrite) attempt(ctx context.Context) error {
	for range maxOutrun {
		write, ok, err := w.nextWrite(ctx)
		if err != nil || !ok {
			return err
		}
		_, err = w.boards.client.PutItem(ctx, dynamo.PutInput(write.Action.Put), dynamo.NoRetry)
		err = w.observe(ctx, write.Attempt, err)
		if w.boards.deferRows && w.stored != nil && observe.PartitionFull(write.Attempt.Kind, err) {
			_, err = w.boards.client.UpdateItem(ctx, w.updateWithoutRow(write.Action.Put), dynamo.NoRetry)
		}
		newer, outrun := dynamo.ConditionFailed(err)
		if !outrun {
			w.wrote = err == nil
			return err
		}
		if err := w.setStored(newer); err != nil {
			return err
		}
	}
	return dynamo.ErrOutrun
}

// updateWithoutRow returns the update that writes the entry of put, but leaves its row in the index as it is.
func (w *entryWrite) updateWithoutRow(put *types.Put) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: put.TableName, Key: dynamo.Key(schema.EntryKey(w.board, w.label, w.score.Player)),
		UpdateExpression:         aws.String("SET #score = :score, #at = :at, #rev = :next"),
		ConditionExpression:      aws.String("#rev = :rev"),
		ExpressionAttributeNames: map[string]string{"#score": schema.EntryScore, "#at": schema.EntryAt, "#rev": schema.EntryRev},
		ExpressionAttributeValues: dynamo.Item{
			":score": put.Item[schema.EntryScore], ":at": put.Item[schema.EntryAt], ":next": put.Item[schema.EntryRev],
			":rev": dynamo.Number(w.stored.Rev),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// observe reports an attempt to the observer, and returns err. It reports a failed attempt for the write shard of the
// stored row: after a growth, most likely that write shard's partition throttled the move of the row.
func (w *entryWrite) observe(ctx context.Context, a shard.Attempt, err error) error {
	a.Items = w.itemsHash
	if err != nil && w.stored != nil {
		a.Shard = w.stored.shard
	}
	return w.call.Observe(ctx, a, err)
}
