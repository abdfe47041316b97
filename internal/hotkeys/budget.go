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
	claimPause = 10 * time.Second // time without claims after a failed call
	namesKept  = time.Hour        // how long the item is kept after its hour
)

// digest is a name's shortened SHA-256, so that 1,000 names fit in an item of 12 KB. Two names with the same digest
// count as one.
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
	names map[digest]bool // a cache of the item's names
	pause time.Time       // no claims before this time
}

func newBudget(s Settings, client client.Updater) *budget {
	return &budget{client: client, table: s.HeatTable, limit: s.MetricKeys}
}

// allowName reports whether metrics may use a name in the current hour. It returns false with an error, and for
// claimPause after one.
func (b *budget) allowName(ctx context.Context, name string, now time.Time) (bool, error) {
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
	stored, err := b.claimName(ctx, d)
	if err != nil {
		b.pause = now.Add(claimPause)
		return false, err
	}
	b.cacheNames(stored)
	return b.names[d], nil
}

// claimName adds a name to the hour's item if the limit allows it. It returns the item afterwards, with or without the
// name.
func (b *budget) claimName(ctx context.Context, d digest) (stored dynamo.Item, err error) {
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
	if current, full := dynamo.ConditionFailed(err); full {
		return current, nil
	}
	if err != nil {
		return nil, fmt.Errorf("hotkeys: adding a metric's name to the budget of %s: %w", b.hour.Format(time.RFC3339), err)
	}
	return out.Attributes, nil
}

// cacheNames replaces the cached names by those of the item.
func (b *budget) cacheNames(stored dynamo.Item) {
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
