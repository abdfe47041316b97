package rebuild

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// repair folds the right states of the sources that can be repaired, and sets Repaired in their findings. If a write
// shard has changed since it was read, it repairs the others and returns parts.ErrMoved.
func (c *counters) repair(ctx context.Context, name string, sources []source, findings []Finding) error {
	var moved error
	states := map[int]fold.State{}
	for _, s := range sources {
		right, err := c.repairedState(ctx, name, s)
		switch {
		case errors.Is(err, parts.ErrMoved):
			moved = err
		case err != nil:
			return err
		case right != nil:
			states[s.n] = *right
		}
	}
	if err := fold.FoldStates(ctx, c.client, c.o.Names.Rollups, name, states, c.o.Now); err != nil {
		return err
	}
	for i, f := range findings {
		_, findings[i].Repaired = states[*f.WriteShard]
	}
	return moved
}

// repairedState returns the state that repairs the summary by a fold, or nil if none is needed or safe.
func (c *counters) repairedState(ctx context.Context, name string, shard source) (*fold.State, error) {
	switch shard.classify() {
	case Stale:
		return &fold.State{Rev: shard.item.rev, Value: shard.item.value.String()}, nil
	case Removed:
		right := fold.State{Rev: shard.summary.rev}.Removal()
		return &right, nil
	case Ahead, Wrong:
		return c.raiseRev(ctx, name, shard)
	}
	return nil, nil
}

// raiseRev raises the rev of a write shard above the summary's, so that its state and later writes are folded. It
// returns the new state, or parts.ErrMoved if the write shard already has such a rev, or is removed.
func (c *counters) raiseRev(ctx context.Context, name string, shard source) (*fold.State, error) {
	pk, sk := schema.CounterKey(name, shard.n)
	rev := new(big.Int).Add(shard.summary.rev, big.NewInt(1))
	out, err := c.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &c.o.Names.Items, Key: dynamo.Key(pk, sk),
		UpdateExpression:          aws.String("SET rev = :rev"),
		ConditionExpression:       aws.String("rev < :rev"),
		ExpressionAttributeValues: item{":rev": dynamo.Decimal(rev.String())},
		ReturnValues:              types.ReturnValueAllNew,
	})
	if _, moved := dynamo.ConditionFailed(err); moved {
		return nil, parts.ErrMoved
	}
	if err != nil {
		return nil, fmt.Errorf("raising the rev of %q: %w", pk, err)
	}
	return &fold.State{Rev: rev, Value: dynamo.Digits(out.Attributes, "value")}, nil
}
