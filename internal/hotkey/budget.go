package hotkey

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

const (
	claimPause = 10 * time.Second // after a call that failed, in which no name is new
	namesKept  = time.Hour        // beyond the hour that an item is for
)

// digest stands for a name in the budget's item, so that a thousand names fit in
// 12 KB. Two names with one digest would cost one name more than the budget.
type digest [12]byte

// budget bounds the different names that get metrics of their own in one hour of the
// clock, which is how CloudWatch counts them, over all containers: an item of the
// heat table has the hour's names, and takes a new one only while there is room. A
// container asks once for each name that is new to it, and no more when the hour's
// are spent, which it learns from an answer.
type budget struct {
	client dynamo.Updater
	table  string
	limit  int

	mu    sync.Mutex
	hour  time.Time
	names map[digest]bool // that are known to be in the item
	pause time.Time       // no calls before
}

func newBudget(s Settings, client dynamo.Updater) *budget {
	return &budget{client: client, table: s.HeatTable, limit: s.MetricKeys}
}

// allow reports whether a name may be used now. After an error it may not.
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

// claim puts a name into the hour's item, if there is room, and returns what is in
// there in either case.
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
		return nil, fmt.Errorf("hotkey: claiming a metric's name for %s: %w", b.hour.Format(time.RFC3339), err)
	}
	return out.Attributes, nil
}

// learn takes over the hour's names.
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
