package table

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// maxKeyBytes is the size of DynamoDB's longest partition key.
const maxKeyBytes = 2048

func (t *Table) keyFormat() shard.Format { return cmp.Or(t.Format, shard.Hash) }

// join returns the partition key of write shard n, counted from 0. The base is a name, or a name with its time bucket.
func (t *Table) join(base string, n int) string {
	if t.PlainFirst {
		return t.Format.JoinPlain(base, n)
	}
	return t.keyFormat().Join(base, t.First+n)
}

// bucketed returns the base of the write shards of a name in a time bucket.
func (t *Table) bucketed(name, label string) string {
	return name + t.keyFormat().Separator() + label
}

// plainFault returns why the table can't have PlainFirst, or nil.
func (t *Table) plainFault() error {
	if !t.PlainFirst {
		return nil
	}
	switch {
	case t.Format == "":
		return fmt.Errorf("PlainFirst needs an explicit Format that no name ends in, such as shard.HashShard")
	case t.First != 0:
		return fmt.Errorf("PlainFirst needs First 0, not %d: write shard 0 is the plain name", t.First)
	}
	switch layout := t.Layout.(type) {
	case HybridBuckets:
		return fmt.Errorf("PlainFirst can't be combined with HybridBuckets, whose partition keys have no names")
	case TimeBuckets:
		label := layout.Bucket.Label(time.Date(2026, 12, 22, 13, 14, 0, 0, time.UTC)) // has no leading zero in any part
		if _, n := t.Format.SplitPlain(t.bucketed("", label)); n > 0 || strings.ContainsAny(string(t.Format), "0123456789") {
			return fmt.Errorf("format %q may read the plain key of a time bucket, say %q, as a write shard: use shard.HashShard", string(t.Format), t.bucketed("acme", label))
		}
	}
	return nil
}

// nameFault returns an error that wraps ErrMisused if PlainFirst does not allow the name, or nil.
func (t *Table) nameFault(name string) error {
	if !t.PlainFirst {
		return nil
	}
	if shorter, n := t.Format.SplitPlain(name); n > 0 {
		return fmt.Errorf("%w: table %s: the name %q is also write shard %d of %q: rename it, or choose another Format", shard.ErrMisused, t.Name, name, n, shorter)
	}
	base := name
	if layout, ok := t.Layout.(TimeBuckets); ok {
		base = t.bucketed(name, layout.Bucket.Label(time.Time{}))
	}
	if size := len(t.join(base, shard.MaxShards-1)); size > maxKeyBytes {
		return fmt.Errorf("%w: table %s: the name %.40q... is too long: its write shards' keys would have up to %d bytes, and DynamoDB's limit is %d", shard.ErrMisused, t.Name, name, size, maxKeyBytes)
	}
	return nil
}

// checkShardsUnused implements shard.Attempt.CheckUnused: it returns a [*shard.KeyError] if an item is stored under a
// name's write shards n, from <= n < to. With time buckets it checks every bucket that reads query on these write shards.
func (t *Table) checkShardsUnused(ctx context.Context, name string, from, to int, now time.Time) error {
	bases := []string{name}
	if layout, ok := t.Layout.(TimeBuckets); ok {
		bases = nil
		for _, label := range layout.Bucket.Labels(now.Add(-shardmap.LateMargin), now.Add(maxAhead(t.Shards)+shardmap.Margin)) {
			bases = append(bases, t.bucketed(name, label))
		}
	}
	var keys []string
	for _, base := range bases {
		for n := from; n < to; n++ {
			keys = append(keys, t.join(base, n))
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dynamo.MaxParallel)
	for _, pk := range keys {
		group.Go(func() error { return t.checkUnused(ctx, pk) })
	}
	return group.Wait()
}

// checkUnused returns a [*shard.KeyError] if an item has the partition key. It costs a read unit if none has it.
func (t *Table) checkUnused(ctx context.Context, pk string) error {
	out, err := dynamo.Persistent(t.Client).Query(ctx, &dynamodb.QueryInput{
		TableName: &t.Name, Limit: aws.Int32(1), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("#pk = :pk"), ProjectionExpression: aws.String("#pk"),
		ExpressionAttributeNames: map[string]string{"#pk": t.PartitionKey}, ExpressionAttributeValues: Item{":pk": dynamo.String(pk)},
	})
	if err != nil {
		return fmt.Errorf("querying %q of table %s: %w", pk, t.Name, err)
	}
	if len(out.Items) > 0 {
		return occupiedError(t.Name, pk)
	}
	return nil
}

// occupiedError returns the error of a new write shard whose partition key has items already.
func occupiedError(table, pk string) error {
	return &shard.KeyError{Key: pk, Reason: fmt.Sprintf("table %s already has items under this partition key of a new write shard: move them to another key", table)}
}
