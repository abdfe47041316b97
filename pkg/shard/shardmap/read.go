package shardmap

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// stored is the shard map as its table has it: what is read of it past any view.
type stored struct {
	client Client
	table  string
}

// follow takes over what the log says from a time on, and the note of partitions, which
// stands at its end.
func (s *stored) follow(ctx context.Context, v *view, from time.Time) error {
	changes := dynamo.Items(ctx, s.patient(callTime), &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :log AND sk >= :from"),
		ExpressionAttributeValues: dynamo.Item{
			":log": dynamo.String(schema.MapLog), ":from": dynamo.String(from.UTC().Format(schema.TimeLayout)),
		},
	})
	for it, err := range changes {
		if err == nil {
			err = s.hear(ctx, v, it)
		}
		if err != nil {
			return fmt.Errorf("reading the changes of the shard map: %w", err)
		}
	}
	return nil
}

// hear takes over one item of the log. What somebody else has put there says nothing.
func (s *stored) hear(ctx context.Context, v *view, it dynamo.Item) error {
	if dynamo.Text(it, schema.SK) == schema.MapNote {
		if n, err := dynamo.Integer(it, attrNoted); err == nil {
			v.note(int(n))
		}
		return nil
	}
	change, ok := logged(it)
	if !ok {
		return nil
	}
	if change.fault != nil {
		return s.lookAgain(ctx, v, change)
	}
	v.learn(change)
	return nil
}

// lookAgain reads the item of a key whose change does not say all, or can't be read.
// What the view has of it is no longer so; the item may be readable, or newer.
func (s *stored) lookAgain(ctx context.Context, v *view, change Entry) error {
	if held, ok, _ := v.find(change.Key); ok && change.Version > 0 && !change.newer(held) {
		return nil
	}
	it, err := s.get(ctx, change.Key)
	if err != nil {
		return fmt.Errorf("reading %q: %w", change.Key, err)
	}
	v.replace(readEntry(change.Key, it), it != nil)
	return nil
}

// Read reads one key's item, consistently and past the view. A key that is not in
// the map has an entry with no history. It costs a read unit for 4 KB.
func (s *stored) Read(ctx context.Context, key string) (Entry, error) {
	if err := usable(key); err != nil {
		return Entry{}, err
	}
	it, err := s.get(ctx, key)
	if err != nil || it == nil {
		return Entry{Key: key}, err
	}
	return parseEntry(key, it)
}

// Bounds of one attempt of a read. One that hangs is better made again.
const (
	callTime = 500 * time.Millisecond // it takes some milliseconds, and a request that has 2 s waits for it
	pageTime = 2 * time.Second        // of a load's page: the parts share a CPU, which may be part of one
)

// maxSortKey is DynamoDB's bound: what is longer is no key of the map.
const maxSortKey = 1024

func (s *stored) get(ctx context.Context, key string) (it dynamo.Item, err error) {
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		it, err = s.getOnce(ctx, key)
		return err
	})
	return it, err
}

func (s *stored) getOnce(ctx context.Context, key string) (it dynamo.Item, err error) {
	if len(key) > maxSortKey {
		return nil, nil
	}
	err = promptly(ctx, callTime, func(ctx context.Context) error {
		out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &s.table, Key: mapKey(key), ConsistentRead: aws.Bool(true),
		}, dynamo.NoRetry)
		if err == nil {
			it = out.Item
		}
		return err
	})
	return it, err
}

// patient is the client whose queries are repeated, each attempt within a while.
func (s *stored) patient(each time.Duration) dynamo.Querier {
	return dynamo.Persistent(prompt{s.client, each})
}

// prompt is a client whose queries are cut off after a while.
type prompt struct {
	client dynamo.Querier
	within time.Duration
}

func (p prompt) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (out *dynamodb.QueryOutput, err error) {
	err = promptly(ctx, p.within, func(ctx context.Context) (err error) {
		out, err = p.client.Query(ctx, in, o...)
		return err
	})
	return out, err
}

// promptly makes a call that is cut off after a while, which is worth another attempt.
func promptly(ctx context.Context, within time.Duration, call func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := call(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: no answer within %v: %v", shard.ErrUnavailable, within, err)
	}
	return err
}
