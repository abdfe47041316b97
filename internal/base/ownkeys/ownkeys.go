// Package ownkeys forms and parses the partition keys of an adopted table: a caller's own table whose write shard 0 is
// the plain name.
//
//	keys := ownkeys.Keys{Format: shard.HashShard, Bucket: shard.Day}
//	name, label, n, ok := keys.Split("acme#2026-01-05#SHARD_3") // acme, 2026-01-05, 3
//	err := ownkeys.CheckUnused(ctx, client, "orders", "customer", keys.Join("acme", label, 4), keys.Join("acme", label, 5))
package ownkeys

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Keys is the form of an adopted table's partition keys.
type Keys struct {
	Format shard.Format
	Bucket shard.Bucket // "" for a layout without time buckets
}

// Join returns the partition key of a name's write shard. If the keys have time buckets, label is the bucket's.
func (k Keys) Join(name, label string, n int) string {
	if k.Bucket != "" {
		name += k.Format.Separator() + label
	}
	return k.Format.JoinPlain(name, n)
}

// Split is the inverse of Join. If the keys have time buckets, it returns false for a key without one. It can't tell
// the name acme#SHARD_1 from write shard 1 of acme, so such names must not be used.
func (k Keys) Split(pk string) (name, label string, n int, ok bool) {
	name, n = k.Format.SplitPlain(pk)
	if k.Bucket == "" {
		return name, "", n, true
	}
	at := len(name) - len(k.Bucket.Label(time.Time{}, 0))
	if at < 0 {
		return "", "", 0, false
	}
	label = name[at:]
	if _, err := k.Bucket.Start(label, 0); err != nil {
		return "", "", 0, false
	}
	name, ok = strings.CutSuffix(name[:at], k.Format.Separator())
	return name, label, n, ok
}

// CheckUnused returns nil if no item has one of the partition keys. It returns a [*shard.KeyError] for a key that an
// item has, or the error of reading. Each key costs a read unit.
func CheckUnused(ctx context.Context, db client.Querier, table, partitionKey string, keys ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dynamo.MaxParallel)
	for _, pk := range keys {
		group.Go(func() error { return checkKeyUnused(ctx, db, table, partitionKey, pk) })
	}
	return group.Wait()
}

// Taken returns the error of a new write shard's partition key that has items.
func Taken(table, pk string) error {
	return &shard.KeyError{Key: pk, Reason: fmt.Sprintf("table %s has items with this partition key, although it never had a write shard of this number", table)}
}

func checkKeyUnused(ctx context.Context, db client.Querier, table, partitionKey, pk string) error {
	out, err := dynamo.Persistent(db).Query(ctx, &dynamodb.QueryInput{
		TableName: &table, Limit: aws.Int32(1), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("#pk = :pk"), ProjectionExpression: aws.String("#pk"),
		ExpressionAttributeNames: map[string]string{"#pk": partitionKey}, ExpressionAttributeValues: dynamo.Item{":pk": dynamo.String(pk)},
	})
	if err != nil {
		return fmt.Errorf("querying %q of table %s: %w", pk, table, err)
	}
	if len(out.Items) > 0 {
		return Taken(table, pk)
	}
	return nil
}
