package boards

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Remove deletes a player's entries of all time and of this day, week and month, whatever the board's settings; entries
// of past periods stay until they expire. It returns no error if there is no entry. A later score creates a new entry. So
// may an earlier score of a player without an entry, if its write timed out and DynamoDB applies it after the removal.
func (l *Boards) Remove(ctx context.Context, board, player string, now time.Time) error {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(l.client, l.shards, board, player)); err != nil {
		return err
	}
	var group errgroup.Group
	for _, s := range l.boardPeriods(board, Periods(), now) {
		group.Go(func() error { return l.remove(ctx, s, player, now) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("removing player %q from board %q: %w", player, board, err)
	}
	return nil
}

// maxRevAhead is how far, in microseconds, an entry's rev may be ahead of the removal's time because of the clocks. An
// entry with a higher rev was written by a later call.
const maxRevAhead = int64(2 * shardmap.Clocks / time.Microsecond)

// remove deletes one entry if it exists, which costs 1 WCU in the index. A new entry's rev is its writer's time in
// microseconds. So an entry whose rev is more than maxRevAhead above now is from a later call, and stays. An attempt
// that DynamoDB applies late deletes no newer entry, unless the clock of that entry's writer is behind.
func (l *Boards) remove(ctx context.Context, period boardPeriod, player string, now time.Time) error {
	call, clock := observe.Begin(l.observer), dynamo.StartClock(now)
	highestRev := now.UnixMicro()
	return dynamo.Persist(ctx, func(ctx context.Context) error {
		for range maxOutrun {
			_, err := l.client.DeleteItem(ctx, l.deleteInput(period, player, highestRev), dynamo.NoRetry)
			at := clock.Now()
			entry, count := l.shards.Newest(ctx, Key(period.board), at)
			attempt := observe.NewAttempt(schema.Board, Key(period.board), entry, shard.Calculated(player, count), at)
			attempt.Items = observe.Hash(player)
			err = call.Observe(ctx, attempt, err)
			stored, conditionFailed := dynamo.ConditionFailed(err)
			if !conditionFailed {
				return err
			}
			rev, err := dynamo.Integer(stored, schema.EntryRev)
			if err != nil || rev-now.UnixMicro() > maxRevAhead { // a later call wrote the entry
				return err
			}
			highestRev = max(highestRev, rev) // the clock of the entry's writer is ahead
		}
		return dynamo.ErrOutrun
	})
}

// deleteInput returns the deletion of an entry, on condition that its rev is at most highestRev.
func (l *Boards) deleteInput(period boardPeriod, player string, highestRev int64) *dynamodb.DeleteItemInput {
	return &dynamodb.DeleteItemInput{
		TableName: &l.table, Key: dynamo.Key(schema.EntryKey(period.board, period.label, player)),
		ConditionExpression:                 aws.String("attribute_not_exists(rev) OR rev <= :rev"),
		ExpressionAttributeValues:           dynamo.Item{":rev": dynamo.Number(highestRev)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}
