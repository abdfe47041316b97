package table_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestCheckUnusedLooksAsFarAsItemsAreDated checks which time buckets CheckUnused reads: items of a late change may be dated LateMargin
// back, and others as far ahead as Put accepts them, and Margin more.
func TestCheckUnusedLooksAsFarAsItemsAreDated(t *testing.T) {
	const hour, moment = "acme#2026-01-05T13", 10 * time.Second
	start := time.Date(2026, 1, 5, 13, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		into time.Duration // of the hour
		want []string
	}{
		{shardmap.LateMargin - moment, []string{"acme#2026-01-05T12", hour}},
		{shardmap.LateMargin + moment, []string{hour}},
		{time.Hour - shardmap.MaxAhead - shardmap.Margin - moment, []string{hour}},
		{time.Hour - shardmap.MaxAhead - shardmap.Margin + moment, []string{hour, "acme#2026-01-05T14"}},
	} {
		client, listener := &asked{Client: empty{}}, &libtest.Listener{}
		orders := plain(client, "orders", table.TimeBuckets{Bucket: shard.Hour, Stamp: shard.Millis}, table.Fixed(1))
		orders.Observer = listener
		now := start.Add(c.into)
		item := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(shard.Millis.Key(now, "#", "x"))}
		require.NoError(t, orders.Put(t.Context(), item, now))
		client.keys = nil
		require.NoError(t, listener.Attempts[0].CheckUnused(t.Context(), 3, 4))
		var want []string
		for _, bucket := range c.want {
			want = append(want, "query "+bucket+"#SHARD_3")
		}
		if slices.Sort(client.keys); !slices.Equal(client.keys, want) {
			t.Errorf("%v into the hour: %q, want %q", c.into, client.keys, want)
		}
	}
}

// empty is a table without items, which keeps none.
type empty struct{ table.Client }

func (empty) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

func (empty) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

func (empty) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}

func (empty) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, nil
}

func (empty) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{}, nil
}
