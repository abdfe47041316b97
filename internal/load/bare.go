package load

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/workload"
)

// BareClient is what a baseline needs of a DynamoDB client.
type BareClient interface {
	dynamo.Getter
	dynamo.Putter
	dynamo.Updater
}

// Bare writes what the API would write for a request with one write shard, by one
// PutItem, one UpdateItem and, for a board, one GetItem and one PutItem more, and
// nothing else: what the engine itself can take.
type Bare struct {
	Client BareClient
	Table  string // with the keys of the items table
}

// retention is how long a baseline's event would be kept.
const retention = 30 * 24 * time.Hour

// sendBare writes a batch, item after item.
func (d *driver) sendBare(ctx context.Context, batch []workload.Request) error {
	stamp(batch)
	b := d.Bare
	for _, r := range batch {
		if err := b.putEvent(ctx, r); err != nil {
			return fmt.Errorf("baseline: event of %q: %w", r.Entity(), err)
		}
		if err := b.addOne(ctx, r.Counter()); err != nil {
			return fmt.Errorf("baseline: counter %q: %w", r.Counter(), err)
		}
		if d.Board == "" {
			continue
		}
		if err := b.addScore(ctx, d.Board, r); err != nil {
			return fmt.Errorf("baseline: player %q: %w", r.Player(), err)
		}
	}
	return nil
}

func (b *Bare) putEvent(ctx context.Context, r workload.Request) error {
	key := schema.Key{
		Base:   schema.BaseKey{Type: schema.Entity, Name: r.Entity()},
		Bucket: schema.EventBucket.Label(r.Time, 0),
	}
	data := r.Data()
	_, err := b.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &b.Table,
		Item: dynamo.Item{
			schema.PK:        dynamo.String(key.String()),
			schema.SK:        dynamo.String(schema.EventSortKey(r.Time, r.ID)),
			schema.ExpiresAt: dynamo.Number(time.Now().Add(retention).Unix()),
			"data": &types.AttributeValueMemberM{Value: dynamo.Item{
				"method": dynamo.String(data.Method), "path": dynamo.String(data.Path),
				"status": dynamo.Number(int64(data.Status)), "bytes": dynamo.Number(data.Bytes),
			}},
		},
	})
	return err
}

func (b *Bare) addOne(ctx context.Context, counter string) error {
	key := schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: counter}}
	_, err := b.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                &b.Table,
		Key:                      dynamo.Key(key.String(), schema.SoleSK),
		UpdateExpression:         aws.String("SET rev = if_not_exists(rev, :now) + :one ADD #value :delta"),
		ExpressionAttributeNames: map[string]string{"#value": "value"},
		ExpressionAttributeValues: dynamo.Item{
			":now": dynamo.Number(time.Now().UnixMicro()), ":one": dynamo.Number(1), ":delta": dynamo.Number(1),
		},
	})
	return err
}
