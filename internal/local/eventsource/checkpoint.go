package eventsource

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/schema"
)

// A checkpoint is an item of the checkpoint table: pk mapping, sk stream shard.
// A window's state that is too large for it is cut over items of their own, in
// one of two sets that take turns: the checkpoint is written last and names its
// set, so it never points to a state that is half written.
const (
	checkpointVersion = "1"
	maxInlineState    = 300_000 // bytes; an item holds 400 KB
	partSeparator     = "#state#"
)

// CheckpointAPI are the calls that checkpoints need.
type CheckpointAPI interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// checkpoint is how far a mapping has come in a stream shard.
type checkpoint struct {
	after    string  // sequence number of the last record that is done; "" for none
	finished bool    // the stream shard is closed, and all of it is done
	window   *window // the open one; nil for none
	set      int     // which set of parts the state was last written to
}

// checkpoints are a mapping's, in a table.
type checkpoints struct {
	client  CheckpointAPI
	table   string
	mapping string
	arn     string
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
func binary(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func (c *checkpoints) save(ctx context.Context, shard string, cp *checkpoint) error {
	row := item{
		local.CheckpointPartitionKey: text(c.mapping), local.CheckpointSortKey: text(shard),
		schema.Version: &types.AttributeValueMemberN{Value: checkpointVersion}, "stream": text(c.arn),
		"sequence": text(cp.after), "finished": &types.AttributeValueMemberBOOL{Value: cp.finished},
	}
	set := cp.set
	if w := cp.window; w != nil {
		row["window_start"], row["window_end"] = number(w.start.Unix()), number(w.end.Unix())
		if len(w.state) <= maxInlineState {
			row["state"] = binary(w.state)
		} else {
			set = 1 - set // not the one that the stored checkpoint may name
			parts, err := c.saveParts(ctx, shard, set, w.state)
			if err != nil {
				return err
			}
			row["state_set"], row["state_parts"] = number(int64(set)), number(int64(parts))
		}
	}
	if err := c.put(ctx, shard, row); err != nil {
		return err
	}
	cp.set = set
	return nil
}

func (c *checkpoints) saveParts(ctx context.Context, shard string, set int, state []byte) (parts int, err error) {
	for part := range slices.Chunk(state, maxInlineState) {
		row := item{local.CheckpointPartitionKey: text(c.mapping), local.CheckpointSortKey: text(partKey(shard, set, parts)),
			"stream": text(c.arn), "state": binary(part)}
		if err := c.put(ctx, shard, row); err != nil {
			return parts, err
		}
		parts++
	}
	return parts, nil
}

func partKey(shard string, set, part int) string {
	return fmt.Sprintf("%s%s%d#%d", shard, partSeparator, set, part)
}

func (c *checkpoints) put(ctx context.Context, shard string, row item) error {
	if _, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: row}); err != nil {
		return fmt.Errorf("write the checkpoint of mapping %s for stream shard %s: %w", c.mapping, shard, err)
	}
	return nil
}

// sort returns the checkpoints that rows hold by stream shard, and the sort keys of
// those that are of streams and stream shards that no longer exist.
func (c *checkpoints) sort(rows map[string]item, shards []StreamShard) (found map[string]checkpoint, old []string, err error) {
	found = make(map[string]checkpoint)
	for key, row := range rows {
		shard, _, isPart := strings.Cut(key, partSeparator)
		exists := slices.ContainsFunc(shards, func(s StreamShard) bool { return s.ID == shard })
		if !exists || textOf(row["stream"]) != c.arn {
			old = append(old, key)
			continue
		}
		if isPart {
			continue
		}
		if found[shard], err = parseCheckpoint(shard, row, rows); err != nil {
			return nil, nil, fmt.Errorf("read the checkpoint of mapping %s for stream shard %s: %w", c.mapping, shard, err)
		}
	}
	return found, old, nil
}

// rows returns the mapping's items by sort key.
func (c *checkpoints) rows(ctx context.Context) (map[string]item, error) {
	rows := make(map[string]item)
	condition := "mapping = :m"
	consistent := true
	in := &dynamodb.QueryInput{
		TableName: &c.table, ConsistentRead: &consistent, KeyConditionExpression: &condition,
		ExpressionAttributeValues: item{":m": text(c.mapping)},
	}
	for range maxPages {
		out, err := c.client.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("read the checkpoints of mapping %s: %w", c.mapping, err)
		}
		for _, row := range out.Items {
			rows[textOf(row[local.CheckpointSortKey])] = row
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	return rows, nil
}

func (c *checkpoints) delete(ctx context.Context, key string) error {
	_, err := c.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &c.table, Key: item{local.CheckpointPartitionKey: text(c.mapping), local.CheckpointSortKey: text(key)},
	})
	if err != nil {
		return fmt.Errorf("delete the old checkpoint %s of mapping %s: %w", key, c.mapping, err)
	}
	return nil
}

func parseCheckpoint(shard string, row item, rows map[string]item) (cp checkpoint, err error) {
	if v := numberOf(row[schema.Version]); strconv.FormatInt(v, 10) != checkpointVersion {
		return cp, fmt.Errorf("its version is %d instead of %s", v, checkpointVersion)
	}
	finished, _ := row["finished"].(*types.AttributeValueMemberBOOL)
	cp = checkpoint{
		after: textOf(row["sequence"]), finished: finished != nil && finished.Value, set: int(numberOf(row["state_set"])),
	}
	if row["window_start"] == nil {
		return cp, nil
	}
	cp.window = &window{
		start: time.Unix(numberOf(row["window_start"]), 0).UTC(),
		end:   time.Unix(numberOf(row["window_end"]), 0).UTC(),
		state: binaryOf(row["state"]),
	}
	for i := range int(numberOf(row["state_parts"])) {
		part := binaryOf(rows[partKey(shard, cp.set, i)]["state"])
		if len(part) == 0 {
			return cp, fmt.Errorf("part %d of its window's state is missing", i)
		}
		cp.window.state = append(slices.Clip(cp.window.state), part...)
	}
	return cp, nil
}

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func numberOf(v types.AttributeValue) int64 {
	s, _ := v.(*types.AttributeValueMemberN)
	if s == nil {
		return 0
	}
	n, _ := strconv.ParseInt(s.Value, 10, 64)
	return n
}

func binaryOf(v types.AttributeValue) []byte {
	b, _ := v.(*types.AttributeValueMemberB)
	if b == nil {
		return nil
	}
	return b.Value
}
