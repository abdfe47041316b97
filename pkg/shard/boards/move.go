package boards

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// MoveRows updates the outdated rows (see Options.DeferRows) of these players in the index, in the period with this
// label ([Period.Label]). It returns the number of rows that it updated, and skips damaged entries. After an error some
// rows may still be outdated: ErrThrottled means that the index throttles, ErrContended that entries kept changing.
//
// Each player costs 1 RCU, and each row 1 WCU in the table and 2 WCU in the index. An entry that
// changes during the call costs as much again.
func (l *Boards) MoveRows(ctx context.Context, board, label string, players []string, now time.Time) (moved int, err error) {
	for range maxMoveRounds {
		var done int
		players, done, err = l.moveUnchanged(ctx, boardPeriod{board: board, label: label}, players, now)
		moved += done
		if err != nil {
			return moved, fmt.Errorf("moving rows of board %q, period %s: %w", board, label, err)
		}
		if len(players) == 0 {
			return moved, nil
		}
	}
	return moved, fmt.Errorf("moving rows of board %q, period %s: %d entries changed during each of %d attempts; try again: %w", board, label, len(players), maxMoveRounds, shard.ErrContended)
}

// Bounds of a call of MoveRows.
const (
	maxRowMoves   = 8 // concurrent moves
	maxMoveRounds = 5 // attempts for an entry that keeps changing
)

// moveUnchanged moves the outdated rows of entries that don't change during the call; moved is their number. changed
// are the players whose entries changed, and whose rows may still be outdated.
func (l *Boards) moveUnchanged(ctx context.Context, period boardPeriod, players []string, now time.Time) (changed []string, moved int, err error) {
	entries, err := l.Entries(ctx, period.board, period.label, players, now)
	if _, damaged := errors.AsType[DamagedEntries](err); err != nil && !damaged {
		return nil, 0, err
	}
	_, count := l.shards.Newest(ctx, Key(period.board), now)
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRowMoves)
	for _, e := range entries {
		if e.late {
			group.Go(func() error {
				_, err := l.client.UpdateItem(ctx, l.moveRow(period, e, count), dynamo.NoRetry)
				mu.Lock()
				defer mu.Unlock()
				if _, outrun := dynamo.ConditionFailed(err); outrun {
					changed = append(changed, e.Player)
					return nil
				}
				if err == nil {
					moved++
				}
				return dynamo.Classify(err)
			})
		}
	}
	err = group.Wait()
	return changed, moved, err
}

// moveRow returns the update that makes an entry's row current, on condition that the entry is unchanged. The entry's
// rev stays, so that the move fails no writer's condition.
func (l *Boards) moveRow(period boardPeriod, e Entry, count int) *dynamodb.UpdateItemInput {
	row := period.row(e.Place, e.Rev, shard.Calculated(e.Player, count))
	return &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: dynamo.Key(schema.EntryKey(period.board, period.label, e.Player)),
		UpdateExpression:    aws.String("SET #shard = :shard, #key = :key, #row = :rev"),
		ConditionExpression: aws.String("#rev = :rev"),
		ExpressionAttributeNames: map[string]string{
			"#shard": schema.BoardShard, "#key": schema.RankKey, "#row": schema.EntryRowRev, "#rev": schema.EntryRev,
		},
		ExpressionAttributeValues: dynamo.Item{
			":shard": row[schema.BoardShard], ":key": row[schema.RankKey], ":rev": row[schema.EntryRowRev],
		},
	}
}
