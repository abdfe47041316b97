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

// join returns the partition key of write shard n, counted from 0. The base is a name, or a name
// with its time bucket.
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
	switch b := t.Layout.(type) {
	case HybridBuckets:
		return fmt.Errorf("PlainFirst can't be combined with HybridBuckets, whose partition keys have no names")
	case TimeBuckets:
		label := b.Bucket.Label(time.Date(2026, 12, 22, 13, 14, 0, 0, time.UTC))
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
	if of, n := t.Format.SplitPlain(name); n > 0 {
		return fmt.Errorf("%w: table %s: the name %q is also write shard %d of %q: rename it, or choose another Format", shard.ErrMisused, t.Name, name, n, of)
	}
	base := name
	if b, is := t.Layout.(TimeBuckets); is {
		base = t.bucketed(name, b.Bucket.Label(time.Time{}))
	}
	if size := len(t.join(base, shard.MaxShards-1)); size > maxKeyBytes {
		return fmt.Errorf("%w: table %s: the name %.40q... is too long: its write shards' keys would have up to %d bytes, and DynamoDB's limit is %d", shard.ErrMisused, t.Name, name, size, maxKeyBytes)
	}
	return nil
}

// clear implements shard.Attempt.Clear for a name. With time buckets it reads those whose ranges will include the new
// write shards, up to the farthest time ahead of items.
func (t *Table) clear(ctx context.Context, name string, from, to int, now time.Time) error {
	bases := []string{name}
	if b, is := t.Layout.(TimeBuckets); is {
		bases = nil
		for _, label := range b.Bucket.Labels(now.Add(-shardmap.LateMargin), now.Add(aheadOf(t.Shards)+shardmap.Margin)) {
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

// checkUnused returns a [*shard.KeyError] if an item has the partition key. It costs a read unit.
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
		return taken(t.Name, pk)
	}
	return nil
}

// taken returns the error of a new write shard's partition key that has items.
func taken(table, pk string) error {
	return &shard.KeyError{Key: pk, Reason: fmt.Sprintf("table %s has items with this partition key, although it never had a write shard of this number", table)}
}
