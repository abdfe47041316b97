package events

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// partly is a client that writes a third of each batch and throttles all other writes.
type partly struct{ libtest.Scripted }

func (*partly) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	asked := in.RequestItems["items"]
	return &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{"items": asked[len(asked)/3:]}}, nil
}

// writeOf returns a put of an event with this key.
func writeOf(pk, sk string) shardmap.Write {
	return shardmap.Write{Action: types.TransactWriteItem{Put: &types.Put{Item: dynamo.Key(pk, sk)}}, Attempt: shard.Attempt{Key: "E#e"}}
}

// TestEveryItemOfBatchIsObserved checks that each item is observed once. Unprocessed items are observed as throttled if a
// single put shows that their partition throttles, and otherwise as inconclusive.
func TestEveryItemOfBatchIsObserved(t *testing.T) {
	full := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableWriteKeyRangeThroughputExceeded")}}}
	account := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableWriteAccountLimitExceeded")}}}
	for name, c := range map[string]struct {
		single    error // of a single put
		throttled int
	}{"the partition's limit": {full, 16}, "another limit": {account, 0}} {
		w := &libtest.Listener{}
		b := newWriteBatch(NewWriter(&partly{libtest.Scripted{Probe: c.single}}, "items", nil, Options{Observer: w}), libtest.Epoch)
		for i := range 24 {
			b.addWrite(Event{}, writeOf("E#e#2026-11-22#0", fmt.Sprint("2026-11-22T10:00:00.000Z#", i)), i)
		}
		left, _ := b.attempt(t.Context(), b.items)
		seen := map[shard.Outcome]int{}
		for _, outcome := range w.Outcomes("E#e") {
			seen[outcome]++
		}
		if len(left) != 16 || seen[shard.Accepted] != 8 || seen[shard.Throttled] != c.throttled || w.All != 24 {
			t.Errorf("%s: %d items are left, observed %v; want 16 left, 8 accepted, %d throttled", name, len(left), seen, c.throttled)
		}
	}
}

// lossy is a client that processes no item of a batch. Its first single put has an ambiguous result, and the others
// conflict with a transaction.
type lossy struct {
	partly
	puts int
}

func (l *lossy) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return &dynamodb.BatchWriteItemOutput{UnprocessedItems: in.RequestItems}, nil
}

func (l *lossy) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if l.puts++; l.puts == 1 {
		return nil, &types.InternalServerError{}
	}
	return nil, &types.TransactionConflictException{}
}

// TestAmbiguousResultIsNotObservedAsConflict checks that an item with an ambiguous result is observed as inconclusive, even
// if later items of its batch conflict.
func TestAmbiguousResultIsNotObservedAsConflict(t *testing.T) {
	w := &libtest.Listener{}
	b := newWriteBatch(NewWriter(&lossy{}, "items", nil, Options{Observer: w}), libtest.Epoch)
	for i := range 3 {
		b.addWrite(Event{}, writeOf(fmt.Sprint("E#e#2026-11-22#", i), "2026-11-22T10:00:00.000Z#a"), i)
	}
	left, err := b.attempt(t.Context(), b.items)
	if len(left) != 3 || w.All != 3 || dynamo.IsConflict(err) || !errors.Is(dynamo.Kind(err), shard.ErrUnavailable) {
		t.Errorf("%d items are left and %d observed, error %v; want 3, 3 and ErrUnavailable", len(left), w.All, err)
	}
}
