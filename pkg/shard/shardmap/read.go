package shardmap

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// tableReader reads the shard map's table without a view.
type tableReader struct {
	client Client
	table  string
	log    string // the partition key of the log's copy that this process polls
}

// followLog adds to the view the log's changes that are not older than since.
func (s *tableReader) followLog(ctx context.Context, v *view, since time.Time) error {
	changes := dynamo.Items(ctx, s.persistent(callTime), &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :log AND sk >= :since"),
		ExpressionAttributeValues: dynamo.Item{
			":log": dynamo.String(s.log), ":since": dynamo.String(since.UTC().Format(schema.TimeLayout)),
		},
	})
	for it, err := range changes {
		if err == nil {
			err = s.applyLogItem(ctx, v, it)
		}
		if err != nil {
			return fmt.Errorf("reading the changes of the shard map: %w", err)
		}
	}
	return nil
}

// applyLogItem adds one item of the log to the view. It ignores items that hotshard did not write. For a change that
// can't be read, it reads the key's item.
func (s *tableReader) applyLogItem(ctx context.Context, v *view, it dynamo.Item) error {
	change, ok := parseLogItem(it)
	switch {
	case !ok:
	case change.fault != nil:
		item, err := s.getItem(ctx, change.Key)
		if err != nil {
			return fmt.Errorf("reading the item of %q: %w", change.Key, err)
		}
		v.replace(readEntry(change.Key, item), item != nil)
	default:
		v.mergeEntry(change)
	}
	return nil
}

// Read returns a key's entry by a strongly consistent read of the key's item, at 1 RCU per 4 KB. The entry of a key
// that is not in the map has no history. An item that can't be read is an error.
func (s *tableReader) Read(ctx context.Context, key string) (Entry, error) {
	if err := cmp.Or(dynamo.CheckClient(s.client), checkKey(key)); err != nil {
		return Entry{}, err
	}
	it, err := s.getItem(ctx, key)
	if err != nil || it == nil {
		return Entry{Key: key}, err
	}
	return parseEntry(key, it)
}

// Time limits of an attempt to read. An attempt that takes longer is canceled, and the read is retried.
const (
	callTime = 500 * time.Millisecond // for one item or poll, which take milliseconds
	pageTime = 2 * time.Second        // for a page of a load; the queries may share a fraction of a CPU
)

// maxSortKey is DynamoDB's bound of a sort key, and so the map's bound of a key.
const maxSortKey = 1024

// getItem returns a key's item by a strongly consistent read with retries, or nil if there is none.
func (s *tableReader) getItem(ctx context.Context, key string) (it dynamo.Item, err error) {
	if len(key) > maxSortKey {
		return nil, nil // the table can't have the key
	}
	input := &dynamodb.GetItemInput{TableName: &s.table, Key: mapKey(key), ConsistentRead: aws.Bool(true)}
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		return withTimeLimit(ctx, callTime, func(ctx context.Context) error {
			out, err := s.client.GetItem(ctx, input, dynamo.NoRetry)
			if err == nil {
				it = out.Item
			}
			return err
		})
	})
	return it, err
}

// persistent returns a client that retries its queries, with a time limit for each attempt.
func (s *tableReader) persistent(perAttempt time.Duration) client.Querier {
	return dynamo.Persistent(timeLimited{s.client, perAttempt})
}

// timeLimited is a client with a time limit for each query.
type timeLimited struct {
	client client.Querier
	limit  time.Duration
}

// Query returns ErrUnavailable if the query exceeds the time limit.
func (p timeLimited) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (out *dynamodb.QueryOutput, err error) {
	err = withTimeLimit(ctx, p.limit, func(ctx context.Context) (err error) {
		out, err = p.client.Query(ctx, in, o...)
		return err
	})
	return out, err
}

// withTimeLimit makes a call with a time limit. If the call exceeds the limit, the error is ErrUnavailable, so that
// the caller may retry.
func withTimeLimit(ctx context.Context, limit time.Duration, call func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := call(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: DynamoDB did not answer within %v: %v", shard.ErrUnavailable, limit, err)
	}
	return err
}
