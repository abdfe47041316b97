package fold

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/base/schema"
)

type item = dynamo.Item

// cursor is the position of a round.
type cursor struct {
	Round  time.Time `dynamodbav:"round"` // its start
	Done   bool      `dynamodbav:"done"`
	FromPK string    `dynamodbav:"from_pk,omitempty"` // key of the last processed item; "" before the first
	FromSK string    `dynamodbav:"from_sk,omitempty"`
}

// storedCursor is the cursor's item.
type storedCursor struct {
	record.Key
	Version int `dynamodbav:"v"`
	cursor
}

// version is the version of a cursor's stored form.
const version = 1

// age returns the time since the round started. A start in the future, from a wrong clock, counts as a day old.
func (c cursor) age(now time.Time) time.Duration {
	if c.Round.After(now) {
		return roundEvery
	}
	return now.Sub(c.Round)
}

// startKey returns the key after which the scan continues.
func (c cursor) startKey() item {
	if c.FromPK == "" {
		return nil
	}
	return dynamo.Key(c.FromPK, c.FromSK)
}

// load returns the stored cursor. If it is absent or can't be read, load returns a cursor that starts a new round, which is
// harmless.
func (c *compactor) load(ctx context.Context) (cursor, error) {
	it, err := dynamo.Get(ctx, c.client, c.table, schema.CompactionPK, schema.SoleSK)
	if err != nil {
		return cursor{}, fmt.Errorf("reading the compaction's cursor: %w", err)
	}
	var stored storedCursor
	if err := record.Read(it, &stored); err != nil || stored.Version != version {
		return cursor{Done: true}, nil // of a round long ago
	}
	return stored.cursor, nil
}

// saveTime bounds the save of the cursor after the end of a run.
const saveTime = 2 * time.Second

// save stores the cursor, even if ctx has ended.
func (c *compactor) save(ctx context.Context, position cursor) error {
	stored := storedCursor{record.Key{PK: schema.CompactionPK, SK: schema.SoleSK}, version, position}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: record.Item(stored)})
	if err != nil {
		return fmt.Errorf("storing the compaction's cursor: %w", err)
	}
	return nil
}
