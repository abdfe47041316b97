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

// MoveRows moves the outdated rows of players in the index: see Options.DeferRows. It returns how
// many it moved. After an error some rows may still be outdated; ErrThrottled means that the index
// takes no more now. It leaves out damaged entries, and entries that change meanwhile: their
// writers move the rows, or defer them again.
//
// Each player costs one read unit, and a move 1 WCU in the table and 2 in the index.
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
