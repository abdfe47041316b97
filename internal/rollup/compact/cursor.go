package compact

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/dynamo/record"
	"github.com/hotshard/hotshard/internal/schema"
)

type item = map[string]types.AttributeValue

// cursor is how far a round came.
type cursor struct {
	Round  time.Time `dynamodbav:"round"` // its start
	Done   bool      `dynamodbav:"done"`
	FromPK string    `dynamodbav:"from_pk,omitempty"` // of the last item that was gone through; "" before the first
	FromSK string    `dynamodbav:"from_sk,omitempty"`
}

// storedCursor is the cursor's item.
type storedCursor struct {
	record.Key
	Version int `dynamodbav:"v"`
	cursor
}

// version is that of a cursor's stored form.
const version = 1

// age is how long ago the round started. A start in the future is of a clock that
// was wrong.
func (c cursor) age(now time.Time) time.Duration {
	if c.Round.After(now) {
		return roundEvery
	}
	return now.Sub(c.Round)
}

// startKey is where a scan goes on.
func (c cursor) startKey() item {
	if c.FromPK == "" {
		return nil
	}
	return dynamo.Key(c.FromPK, c.FromSK)
}

// load reads the cursor. Without one that can be read a round starts: it does
// nothing twice.
func (c *Compactor) load(ctx context.Context) (cursor, error) {
	it, err := dynamo.Get(ctx, c.client, c.options.RollupsTable, schema.CompactionPK, schema.SoleSK)
	if err != nil {
		return cursor{}, fmt.Errorf("compact: reading the cursor: %w", err)
	}
	var stored storedCursor
	if err := record.Read(it, &stored); err != nil || stored.Version != version {
		return cursor{Done: true}, nil
	}
	return stored.cursor, nil
}

// saveTime bounds the save of a cursor, which is worth a moment after the end.
const saveTime = 2 * time.Second

func (c *Compactor) save(ctx context.Context, at cursor) error {
	stored := storedCursor{record.Key{PK: schema.CompactionPK, SK: schema.SoleSK}, version, at}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.options.RollupsTable, Item: record.Item(stored)})
	if err != nil {
		return fmt.Errorf("compact: saving the cursor: %w", err)
	}
	return nil
}
