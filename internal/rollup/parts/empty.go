package parts

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/schema"
)

// maxUpdates bounds the updates that are under way.
const maxUpdates = 16

// Empty leaves nothing of the parts read, the merged one included, but their sequence
// numbers, with floors as in Replace: nothing that they count is there any more. It is
// for any number of parts, since what one of them has goes nowhere, so that they need
// not be emptied at once: each is, on condition that it is as it was read. With
// ErrMoved some were not, and those that were stay empty: read again, and see whether
// all that they count is still gone.
func (s *Store) Empty(ctx context.Context, b Bucket, read []Part, floors map[string]string) error {
	now := s.now()
	actions := s.empty(b, read, floors, now)
	for _, p := range read {
		if p.StreamShard == schema.MergedPart && p.Holds() {
			actions = append(actions, s.emptied(b, p.StreamShard, p.Sequence, "", now))
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxUpdates)
	for _, action := range actions {
		group.Go(func() error { return s.update(ctx, action.Update) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("emptying the rollup %q: %w", b, err)
	}
	return nil
}

// update does by itself what could be an action of a transaction.
func (s *Store) update(ctx context.Context, u *types.Update) error {
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression,
		ConditionExpression: u.ConditionExpression, ExpressionAttributeValues: u.ExpressionAttributeValues,
	})
	_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	_, conflict := errors.AsType[*types.TransactionConflictException](err)
	if refused || conflict {
		return ErrMoved
	}
	return err
}
