package boards

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// maxRowMoves bounds a call's concurrent moves of rows.
const maxRowMoves = 8

// MoveRows updates the outdated rows of these players in the index: see Options.DeferRows. It returns
// the number of rows that are no longer outdated. After an error some rows may still be outdated;
// ErrThrottled means that the index throttles. It skips damaged entries, and leaves the rows of entries
// that change meanwhile to their writers.
//
// Each player costs 1 RCU, and each row 1 WCU in the table and 2 WCU in the index.
func (l *Boards) MoveRows(ctx context.Context, board, label string, players []string, now time.Time) (moved int, err error) {
	entries, err := l.Entries(ctx, board, label, players, now)
	if _, some := errors.AsType[DamagedEntries](err); err != nil && !some {
		return 0, err
	}
	_, count := l.shards.Newest(ctx, Key(board), now)
	var n atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRowMoves)
	for _, e := range entries {
		if e.late {
			group.Go(func() error {
				_, err := l.client.UpdateItem(ctx, l.moveRow(span{board: board, label: label}, e, count), dynamo.NoRetry)
				if _, changed := dynamo.ConditionFailed(err); err == nil || changed {
					n.Add(1)
					return nil
				}
				return dynamo.Kind(err)
			})
		}
	}
	if err = group.Wait(); err != nil {
		err = fmt.Errorf("moving rows of board %q, period %s: %w", board, label, err)
	}
	return int(n.Load()), err
}

// moveRow returns the update that makes the row of an unchanged entry current. The entry's rev
// stays, so that the move fails no writer's condition.
func (l *Boards) moveRow(s span, e Entry, count int) *dynamodb.UpdateItemInput {
	row := s.row(e.Place, e.Rev, shard.Calculated(e.Player, count))
	return &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: dynamo.Key(schema.EntryKey(s.board, s.label, e.Player)),
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
