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

// Remove deletes a player's entries of all time and of this day, week and month, whatever the board's
// settings; entries of past periods stay until they expire. It returns no error if there is no
// entry. A later score creates a new entry. So does the first attempt of an earlier score that timed out and is applied
// late, if it was to create the entry.
func (l *Boards) Remove(ctx context.Context, board, player string, now time.Time) error {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(l.client, l.shards, board, player)); err != nil {
		return err
	}
	var group errgroup.Group
	for _, s := range l.spans(board, Periods(), now) {
		group.Go(func() error { return l.remove(ctx, s, player, now) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("removing player %q from board %q: %w", player, board, err)
	}
	return nil
}

// muchNewer is a difference in microseconds. An entry whose rev is above a removal's time by more is from a later call.
const muchNewer = int64(2 * shardmap.Clocks / time.Microsecond)

// remove deletes one entry if it exists, which costs 1 WCU in the index. The rev of a new entry is the
// time in microseconds. So it is above the old rev, except if the new writer's clock is behind the
// first write of the old entry. A removal deletes no entry whose rev is above the removal's time, so an attempt that is
// applied late deletes no newer entry, with the same exception.
func (l *Boards) remove(ctx context.Context, s span, player string, now time.Time) error {
	call, clock, rev := observe.Begin(l.observer), dynamo.StartClock(now), now.UnixMicro()
	return dynamo.Persist(ctx, func(ctx context.Context) error {
		for range maxOutrun {
			_, err := l.client.DeleteItem(ctx, l.removal(s, player, rev), dynamo.NoRetry)
			at := clock.Now()
			entry, count := l.shards.Newest(ctx, Key(s.board), at)
			attempt := observe.Sent(schema.Board, Key(s.board), entry, shard.Calculated(player, count), at)
			attempt.Items = observe.Hash(player)
			err = call.Observe(ctx, attempt, err)
			there, failed := dynamo.ConditionFailed(err)
			if !failed {
				return err
			}
			held, err := dynamo.Integer(there, schema.EntryRev)
			if err != nil || held-now.UnixMicro() > muchNewer { // a later call wrote the entry
				return err
			}
			rev = max(rev, held) // the entry's writer has a clock that is ahead
		}
		return dynamo.ErrOutrun
	})
}

// removal returns the deletion of an entry, on condition that its rev is not higher.
func (l *Boards) removal(s span, player string, rev int64) *dynamodb.DeleteItemInput {
	return &dynamodb.DeleteItemInput{
		TableName: &l.table, Key: dynamo.Key(schema.EntryKey(s.board, s.label, player)),
		ConditionExpression:                 aws.String("attribute_not_exists(rev) OR rev <= :rev"),
		ExpressionAttributeValues:           dynamo.Item{":rev": dynamo.Number(rev)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}
