package eventsource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// row is an item of the checkpoint table: a checkpoint, or a fragment of a window's state.
// A state that is too large for its checkpoint is split into items of its own. Two sets of
// such items alternate. The checkpoint names its set and is written last, so it never
// points to a state that is half written.
type row struct {
	Mapping     string `dynamodbav:"mapping"`      // the partition key
	StreamShard string `dynamodbav:"stream_shard"` // the sort key
	Stream      string `dynamodbav:"stream"`
	Version     int    `dynamodbav:"v,omitempty"`        // from here on a fragment has State only
	Sequence    string `dynamodbav:"sequence,omitempty"` // of the last processed record
	Finished    bool   `dynamodbav:"finished,omitempty"`
	WindowStart int64  `dynamodbav:"window_start,omitempty"` // Unix seconds
	WindowEnd   int64  `dynamodbav:"window_end,omitempty"`   // Unix seconds
	State       []byte `dynamodbav:"state,omitempty"`
	StateSet    int    `dynamodbav:"state_set,omitempty"`
	StateParts  int    `dynamodbav:"state_parts,omitempty"`
}

const (
	checkpointVersion = 1
	maxInlineState    = 300_000 // bytes; an item holds 400 KB
	partSeparator     = "#state#"
)

// CheckpointAPI has the DynamoDB calls that read and write checkpoints.
type CheckpointAPI interface {
	client.Querier
	client.Putter
	client.Deleter
}

// checkpoint is a mapping's progress in a stream shard.
type checkpoint struct {
	after    string  // sequence number of the last record that was processed; "" if none was
	finished bool    // the stream shard is closed, and all its records are processed
	window   *window // the open window; nil if none is open
	set      int     // the set of fragments, 0 or 1, that the state was last written to
}

// checkpoints reads and writes the checkpoints of one mapping in a table.
type checkpoints struct {
	client  CheckpointAPI
	table   string
	mapping string
	arn     string
}

func (c *checkpoints) save(ctx context.Context, shard string, cp *checkpoint) error {
	stored := row{StreamShard: shard, Version: checkpointVersion, Sequence: cp.after, Finished: cp.finished}
	set := cp.set
	if w := cp.window; w != nil {
		stored.WindowStart, stored.WindowEnd = w.start.Unix(), w.end.Unix()
		if len(w.state) <= maxInlineState {
			stored.State = w.state
		} else {
			set = 1 - set // the stored checkpoint may name the current set
			parts, err := c.saveParts(ctx, shard, set, w.state)
			if err != nil {
				return err
			}
			stored.StateSet, stored.StateParts = set, parts
		}
	}
	if err := c.putRow(ctx, shard, stored); err != nil {
		return err
	}
	cp.set = set
	return nil
}

func (c *checkpoints) saveParts(ctx context.Context, shard string, set int, state []byte) (parts int, err error) {
	for part := range slices.Chunk(state, maxInlineState) {
		if err := c.putRow(ctx, shard, row{StreamShard: partKey(shard, set, parts), State: part}); err != nil {
			return parts, err
		}
		parts++
	}
	return parts, nil
}

func partKey(shard string, set, part int) string {
	return fmt.Sprintf("%s%s%d#%d", shard, partSeparator, set, part)
}

func (c *checkpoints) putRow(ctx context.Context, shard string, stored row) error {
	stored.Mapping, stored.Stream = c.mapping, c.arn
	if _, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: record.Item(stored)}); err != nil {
		return fmt.Errorf("writing the checkpoint of mapping %s for stream shard %s: %w", c.mapping, shard, err)
	}
	return nil
}

// parseRows returns the checkpoints in rows by stream shard. It also returns the sort keys of
// rows whose stream or stream shard no longer exists.
func (c *checkpoints) parseRows(rows map[string]dynamo.Item, shards []Shard) (found map[string]checkpoint, old []string, err error) {
	found = make(map[string]checkpoint)
	for key, item := range rows {
		shard, _, isPart := strings.Cut(key, partSeparator)
		exists := slices.ContainsFunc(shards, func(s Shard) bool { return s.ID == shard })
		if !exists || dynamo.Text(item, "stream") != c.arn {
			old = append(old, key)
			continue
		}
		if isPart {
			continue
		}
		if found[shard], err = parseCheckpoint(shard, item, rows); err != nil {
			return nil, nil, fmt.Errorf("reading the checkpoint of mapping %s for stream shard %s: %w", c.mapping, shard, err)
		}
	}
	return found, old, nil
}

// queryRows returns the mapping's items by sort key. It parses none of them, so its errors are
// the query's and may be transient.
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

func parseCheckpoint(shard string, item dynamo.Item, rows map[string]dynamo.Item) (cp checkpoint, err error) {
	var stored row
	if err := record.Read(item, &stored); err != nil {
		return cp, err
	}
	if stored.Version != checkpointVersion {
		return cp, fmt.Errorf("version %d is not supported, only %d", stored.Version, checkpointVersion)
	}
	cp = checkpoint{after: stored.Sequence, finished: stored.Finished, set: stored.StateSet}
	if stored.WindowEnd == 0 {
		return cp, nil
	}
	cp.window = &window{
		start: time.Unix(stored.WindowStart, 0).UTC(),
		end:   time.Unix(stored.WindowEnd, 0).UTC(),
		state: stored.State,
	}
	for i := range stored.StateParts {
		part, _ := rows[partKey(shard, cp.set, i)]["state"].(*types.AttributeValueMemberB)
		if part == nil || len(part.Value) == 0 {
			return cp, fmt.Errorf("fragment %d of the window's state is missing", i)
		}
		cp.window.state = append(slices.Clip(cp.window.state), part.Value...)
	}
	return cp, nil
}
