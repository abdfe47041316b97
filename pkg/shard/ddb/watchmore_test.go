package ddb

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// partly takes a third of a batch, and no single item.
type partly struct{ scripted }

func (*partly) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	asked := in.RequestItems["items"]
	return &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{"items": asked[len(asked)/3:]}}, nil
}

// TestAllOfABatchIsTold: what was not taken counts item by item, as what was taken does,
// where the partition is known to be to blame.
func TestAllOfABatchIsTold(t *testing.T) {
	full := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableWriteKeyRangeThroughputExceeded")}}}
	account := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableWriteAccountLimitExceeded")}}}
	for name, c := range map[string]struct {
		single  error
		refused int
	}{"the partition's limit": {full, 16}, "another limit": {account, 0}} {
		w := &listener{}
		b := newWriteBatch(&partly{scripted{probe: c.single}}, "items", w)
		for i := range 24 {
			b.add(itemKey("E#e#2026-11-22#0", fmt.Sprint("2026-11-22T10:00:00.000Z#", i)), i, Attempt{Key: "E#e"})
		}
		left, _ := b.attempt(t.Context(), b.items)
		told := map[Outcome]int{}
		for _, outcome := range w.outcomes("E#e") {
			told[outcome]++
		}
		if len(left) != 16 || told[Taken] != 8 || told[OverLimit] != c.refused {
			t.Errorf("%s: %d are left, told %v", name, len(left), told)
		}
	}
}

// TestDonorsSayNothing: a limit that has grown within its window has others take over room
// from its first write shards, and those are met by more the more it grows.
func TestDonorsSayNothing(t *testing.T) {
	start := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	at := func(n int) item {
		base := schema.BaseKey{Type: schema.Limit, Name: "login"}
		return itemKey(schema.Key{Base: base, Bucket: schema.LimitBucket(start, time.Hour), Shard: n}.String(), schema.SoleSK)
	}
	for name, c := range map[string]struct {
		grown time.Time
		shard int
		tells bool
	}{
		"a first write shard of a limit that grew":  {start.Add(time.Minute), 0, false},
		"a new write shard":                         {start.Add(time.Minute), 1, true},
		"a limit that grew before the window":       {start.Add(-time.Minute), 0, true},
		"a write shard of a window that it grew in": {start.Add(time.Minute), 3, true},
	} {
		l, ok := tableLoad(at(c.shard), start.Add(2*time.Minute))
		l.Entry = Entry{Key: "R#login", History: shard.History{{At: c.grown, Count: 4}}}
		if !ok || l.gives() == c.tells {
			t.Errorf("%s: it gives room: %v", name, l.gives())
		}
	}
}
