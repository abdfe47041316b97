package compact

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

type item = map[string]types.AttributeValue

// cursor is how far a round came.
type cursor struct {
	round  time.Time // its start
	pk, sk string    // the last item that was gone through; "" before the first
	done   bool
}

// age is how long ago the round started. A start in the future is of a clock that
// was wrong.
func (c cursor) age(now time.Time) time.Duration {
	if c.round.After(now) {
		return roundEvery
	}
	return now.Sub(c.round)
}

// startKey is where a scan goes on.
func (c cursor) startKey() item {
	if c.pk == "" {
		return nil
	}
	return dynamo.Key(c.pk, c.sk)
}

// load reads the cursor. Without one that can be read a round starts: it does
// nothing twice.
func (c *Compactor) load(ctx context.Context) (cursor, error) {
	out, err := c.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &c.options.RollupsTable, ConsistentRead: aws.Bool(true), Key: dynamo.Key(schema.CompactionPK, schema.SoleSK),
	})
	if err != nil {
		return cursor{}, fmt.Errorf("compact: reading the cursor: %w", err)
	}
	round, ok := dynamo.Millis(out.Item, schema.CompactionRound)
	if !ok || dynamo.Digits(out.Item, schema.Version) != schema.CompactionVersion {
		return cursor{done: true}, nil
	}
	done, _ := out.Item[schema.CompactionDone].(*types.AttributeValueMemberBOOL)
	return cursor{
		round: round, done: done != nil && done.Value,
		pk: dynamo.Text(out.Item, schema.CompactionFromPK), sk: dynamo.Text(out.Item, schema.CompactionFromSK),
	}, nil
}

// saveTime bounds the save of a cursor, which is worth a moment after the end.
const saveTime = 2 * time.Second

func (c *Compactor) save(ctx context.Context, at cursor) error {
	stored := item{
		schema.Version:         dynamo.Decimal(schema.CompactionVersion),
		schema.CompactionRound: dynamo.Number(at.round.UnixMilli()),
		schema.CompactionDone:  &types.AttributeValueMemberBOOL{Value: at.done},
	}
	maps.Copy(stored, dynamo.Key(schema.CompactionPK, schema.SoleSK))
	if at.pk != "" {
		stored[schema.CompactionFromPK], stored[schema.CompactionFromSK] = dynamo.String(at.pk), dynamo.String(at.sk)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.options.RollupsTable, Item: stored})
	if err != nil {
		return fmt.Errorf("compact: saving the cursor: %w", err)
	}
	return nil
}
