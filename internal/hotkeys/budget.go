package hotkeys

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

const (
	claimPause = 10 * time.Second // after a failed call, no claims for so long
	namesKept  = time.Hour        // how long the item is kept after its hour
)

// digest identifies a name in the budget's item, so that 1,000 names fit in 12 KB. Two names with the same digest count
// as one name.
type digest [12]byte

// budget bounds the number of different names that get metrics of their own in one clock hour, over all containers.
// CloudWatch bills metrics by name and hour. An item of the heat table has the names of the hour. A container asks once
// for each name that is new to it, and stops asking when the hour's budget is spent.
type budget struct {
	client client.Updater
	table  string
	limit  int

	mu    sync.Mutex
	hour  time.Time
	names map[digest]bool // known to be in the item
	pause time.Time       // no claims before this time
}

func newBudget(s Settings, client client.Updater) *budget {
	return &budget{client: client, table: s.HeatTable, limit: s.MetricKeys}
}

// allow reports whether a name may be used now. It returns false after an error.
func (b *budget) allow(ctx context.Context, name string, now time.Time) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if hour := now.UTC().Truncate(time.Hour); !hour.Equal(b.hour) {
		b.hour, b.names, b.pause = hour, nil, time.Time{}
	}
	sum := sha256.Sum256([]byte(name))
	d := digest(sum[:len(digest{})])
	if b.names[d] {
		return true, nil
	}
	if len(b.names) >= b.limit || now.Before(b.pause) {
		return false, nil
	}
	stored, err := b.claim(ctx, d)
	if err != nil {
		b.pause = now.Add(claimPause)
		return false, err
	}
	b.learn(stored)
	return b.names[d], nil
}

// claim adds a name to the hour's item if the limit allows it. It returns the item as it is then, added or not.
func (b *budget) claim(ctx context.Context, d digest) (stored dynamo.Item, err error) {
	expires := b.hour.Add(time.Hour + namesKept)
	out, err := b.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:           &b.table,
		Key:                 dynamo.Key(schema.MetricNamesKey(b.hour)),
		UpdateExpression:    aws.String("ADD digests :new SET expires_at = :expires, v = :v"),
		ConditionExpression: aws.String("attribute_not_exists(digests) OR size(digests) < :limit OR contains(digests, :one)"),
		ExpressionAttributeValues: dynamo.Item{
			":new":     &types.AttributeValueMemberBS{Value: [][]byte{d[:]}},
			":one":     &types.AttributeValueMemberB{Value: d[:]},
			":limit":   dynamo.Number(int64(b.limit)),
			":expires": dynamo.Number(expires.Unix()),
			":v":       dynamo.Decimal(schema.MetricNamesVersion),
		},
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, full := dynamo.ConditionFailed(err); full {
		return there, nil
	}
	if err != nil {
		return nil, fmt.Errorf("hotkeys: claiming a metric's name for %s: %w", b.hour.Format(time.RFC3339), err)
	}
	return out.Attributes, nil
}

// learn replaces the cached names by those of the item.
func (b *budget) learn(stored dynamo.Item) {
	set, _ := stored["digests"].(*types.AttributeValueMemberBS)
	b.names = make(map[digest]bool)
	if set == nil {
		return
	}
	for _, v := range set.Value {
		if len(v) == len(digest{}) {
			b.names[digest(v)] = true
		}
	}
}
