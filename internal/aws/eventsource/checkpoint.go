package eventsource

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// storedCheckpoint is an item of the checkpoint table.
type storedCheckpoint struct {
	Mapping     string `dynamodbav:"mapping"`      // the partition key
	StreamShard string `dynamodbav:"stream_shard"` // the sort key
	Stream      string `dynamodbav:"stream"`
	Version     int    `dynamodbav:"v"`
	Sequence    string `dynamodbav:"sequence,omitempty"` // of the last processed record
	Finished    bool   `dynamodbav:"finished,omitempty"`
	WindowStart int64  `dynamodbav:"window_start,omitempty"` // Unix seconds
	WindowEnd   int64  `dynamodbav:"window_end,omitempty"`   // Unix seconds
	State       []byte `dynamodbav:"state,omitempty"`
}

const checkpointVersion = 1

// CheckpointAPI has the DynamoDB calls that read and write checkpoints.
type CheckpointAPI interface {
	client.Querier
	client.Putter
	client.Deleter
}

// checkpoint is a mapping's progress in a stream shard.
type checkpoint struct {
	after    string  // sequence number of the last record that was processed; "" before the first
	finished bool    // the stream shard is closed, and all its records are processed
	window   *window // the open window; nil if none is open
}

// checkpoints reads and writes the checkpoints of one mapping in a table.
type checkpoints struct {
	client  CheckpointAPI
	table   string
	mapping string
	arn     string
}

func (c *checkpoints) save(ctx context.Context, shard string, cp *checkpoint) error {
	stored := storedCheckpoint{Mapping: c.mapping, StreamShard: shard, Stream: c.arn, Version: checkpointVersion, Sequence: cp.after, Finished: cp.finished}
	if w := cp.window; w != nil {
		stored.WindowStart, stored.WindowEnd, stored.State = w.start.Unix(), w.end.Unix(), w.state
	}
	if _, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: record.Item(stored)}); err != nil {
		return fmt.Errorf("writing the checkpoint of mapping %s for stream shard %s: %w", c.mapping, shard, err)
	}
	return nil
}

// parseRows returns the checkpoints in rows by stream shard. old has the sort keys of rows of another stream, and of
// rows whose stream shard is not in shards.
func (c *checkpoints) parseRows(rows map[string]dynamo.Item, shards []Shard) (found map[string]*checkpoint, old []string, err error) {
	found = make(map[string]*checkpoint)
	for shard, item := range rows {
		exists := slices.ContainsFunc(shards, func(s Shard) bool { return s.ID == shard })
		if !exists || dynamo.Text(item, "stream") != c.arn {
			old = append(old, shard)
			continue
		}
		if found[shard], err = parseCheckpoint(item); err != nil {
			return nil, nil, fmt.Errorf("reading the checkpoint of mapping %s for stream shard %s: %w", c.mapping, shard, err)
		}
	}
	return found, old, nil
}

// queryRows returns the mapping's items by sort key, unparsed: its errors are those of calls, which can be retried.
func (c *checkpoints) queryRows(ctx context.Context) (map[string]dynamo.Item, error) {
	rows := make(map[string]dynamo.Item)
	condition, consistent := "mapping = :m", true
	in := &dynamodb.QueryInput{
		TableName: &c.table, ConsistentRead: &consistent, KeyConditionExpression: &condition,
		ExpressionAttributeValues: dynamo.Item{":m": dynamo.String(c.mapping)},
	}
	for item, err := range dynamo.Items(ctx, c.client, in) {
		if err != nil {
			return nil, fmt.Errorf("reading the checkpoints of mapping %s: %w", c.mapping, err)
		}
		rows[dynamo.Text(item, dynamolocal.CheckpointSortKey)] = item
	}
	return rows, nil
}

func (c *checkpoints) delete(ctx context.Context, key string) error {
	_, err := c.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &c.table, Key: dynamo.Item{dynamolocal.CheckpointPartitionKey: dynamo.String(c.mapping), dynamolocal.CheckpointSortKey: dynamo.String(key)},
	})
	if err != nil {
		return fmt.Errorf("deleting the old checkpoint %s of mapping %s: %w", key, c.mapping, err)
	}
	return nil
}

func parseCheckpoint(item dynamo.Item) (*checkpoint, error) {
	var stored storedCheckpoint
	if err := record.Read(item, &stored); err != nil {
		return nil, err
	}
	if stored.Version != checkpointVersion {
		return nil, fmt.Errorf("it has version %d, but this program reads version %d: delete this item to start again at the oldest record", stored.Version, checkpointVersion)
	}
	cp := &checkpoint{after: stored.Sequence, finished: stored.Finished}
	if stored.WindowEnd == 0 {
		return cp, nil
	}
	cp.window = &window{
		start: time.Unix(stored.WindowStart, 0).UTC(),
		end:   time.Unix(stored.WindowEnd, 0).UTC(),
		state: stored.State,
	}
	return cp, nil
}
