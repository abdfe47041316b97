// Package parts reads and replaces the parts of an event rollup: what each stream
// shard has of an entity's hour or day, and what was merged of them.
//
//	store := parts.New(client, table, retention, time.Now)
//	bucket := parts.Bucket{Entity: "sensor-1", Width: shard.Hour, Start: hour}
//	read, err := store.Read(ctx, bucket)
//	var total partial.Partial
//	for _, p := range read {
//		total.Merge(p.Partial)
//	}
//	_, err = store.Replace(ctx, bucket, read, total, nil) // into one part, or parts.ErrMoved
//
// Folds may go on meanwhile. A fold is conditional on the sequence number that it
// remembers, and writes its whole part anew. Replace changes the sequence numbers
// of the parts that it empties, so a fold that comes after is refused, reads the
// emptied part, skips what is at or below the sequence number and adds the rest to
// nothing. A fold that comes before makes Replace fail. So no stream shard needs to
// be known as closed.
//
// A reader that reads while a bucket is replaced may see some parts before and
// others after it.
package parts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/partial"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Client is what a Store calls of DynamoDB.
type Client interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Bucket names an event rollup: an entity's hour or day.
type Bucket struct {
	Entity string
	Width  shard.Bucket // hour or day
	Start  time.Time
}

// End is the first instant after the bucket.
func (b Bucket) End() time.Time { return b.Start.Add(b.Width.Width()) }

// String names the bucket as failures do.
func (b Bucket) String() string { return schema.EventTarget(b.Entity, b.Width, b.Start) }

// key returns the keys of a part.
func (b Bucket) key(streamShard string) map[string]types.AttributeValue {
	pk, sk := schema.RollupKey(b.Entity, b.Width, b.Start, streamShard)
	return map[string]types.AttributeValue{
		schema.PK: &types.AttributeValueMemberS{Value: pk},
		schema.SK: &types.AttributeValueMemberS{Value: sk},
	}
}

// Part is a stream shard's part of a rollup, or the merged one.
type Part struct {
	StreamShard string    // schema.MergedPart for the merged one
	AsOf        time.Time // of the last fold; of the merged part, of the last Replace; zero if not known
	ExpiresAt   int64     // Unix seconds; 0 for never
	partial.Partial
}

// Holds tells whether a part has anything beside its sequence number.
func (p Part) Holds() bool { return holds(p.Partial) }

func holds(p partial.Partial) bool {
	return p.Events > 0 || p.Skipped > 0 || p.Restated || len(p.Measures) > 0
}

// Expired tells whether a part's time is over. It may be there for two days more,
// and counts for nothing then.
func (p Part) Expired(now time.Time) bool { return p.ExpiresAt != 0 && p.ExpiresAt <= now.Unix() }

// Store reads and replaces parts. It is safe for concurrent use.
type Store struct {
	client    Client
	table     string
	retention time.Duration
	now       func() time.Time
}

// New returns a Store over the rollups table. Retention is that of rollups after
// the end of their bucket; 0 is for ever.
func New(client Client, table string, retention time.Duration, now func() time.Time) *Store {
	return &Store{client: client, table: table, retention: retention, now: now}
}

// maxParts bounds the parts of one bucket.
const maxParts = 20_000

// Read returns all parts of a bucket in the order of their stream shards, the
// merged one last, by strongly consistent reads. Parts that have expired and those
// that hold nothing are among them.
func (s *Store) Read(ctx context.Context, b Bucket) ([]Part, error) {
	pk, sk := schema.RollupKey(b.Entity, b.Width, b.Start, "")
	pages := dynamodb.NewQueryPaginator(s.client, &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :sk)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: pk},
			":sk": &types.AttributeValueMemberS{Value: sk},
		},
	})
	var list []Part
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the rollup %q: %w", b, err)
		}
		for _, item := range page.Items {
			part, err := parse(item, sk)
			if err != nil {
				return nil, fmt.Errorf("reading the rollup %q: %w", b, err)
			}
			list = append(list, part)
		}
		if len(list) > maxParts {
			return nil, fmt.Errorf("reading the rollup %q: it has more than %d parts", b, maxParts)
		}
	}
	return list, nil
}

// parse reads a part whose sort key starts with prefix.
func parse(item map[string]types.AttributeValue, prefix string) (p Part, err error) {
	sk, ok := item[schema.SK].(*types.AttributeValueMemberS)
	if !ok {
		return p, errors.New("a part has no " + schema.SK)
	}
	p.StreamShard = strings.TrimPrefix(sk.Value, prefix)
	if p.Partial, err = partial.Parse(item); err != nil {
		return p, fmt.Errorf("the part %q: %w", sk.Value, err)
	}
	if p.ExpiresAt, err = number(item, schema.ExpiresAt); err != nil {
		return p, fmt.Errorf("the part %q: %w", sk.Value, err)
	}
	asOf, err := number(item, schema.AsOf)
	if err != nil {
		return p, fmt.Errorf("the part %q: %w", sk.Value, err)
	}
	if asOf != 0 {
		p.AsOf = time.UnixMilli(asOf).UTC()
	}
	return p, nil
}

// number reads a whole number, 0 for an absent one.
func number(item map[string]types.AttributeValue, name string) (int64, error) {
	value, ok := item[name]
	if !ok {
		return 0, nil
	}
	digits, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("its %s is not a number", name)
	}
	n, err := strconv.ParseInt(digits.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("its %s is not a whole number", name)
	}
	return n, nil
}
