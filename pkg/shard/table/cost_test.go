package table_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestCostOfRanges checks the queries and read units of ranges over 3,000 items of 1 KB, which docs/patterns.md lists.
func TestCostOfRanges(t *testing.T) {
	t.Parallel()
	const items = 3000
	d := libtest.Deploy(t)
	limited, limits := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 100_000, PartitionRCU: 300_000})
	client := &libtest.Queries{Client: limited}
	for _, c := range []struct {
		shards int
		want   []string // all, pages of 50, the first 20, a page of 1,000
	}{
		{1, []string{"3000 items: 3 / 375.5", "3000 items: 60 / 419.5", "20 items: 1 / 3", "1000 items: 1 / 125.5"}},
		{16, []string{"3000 items: 16 / 379", "3000 items: 961 / 1412", "20 items: 16 / 16", "1000 items: 16 / 179"}},
		{64, []string{"3000 items: 64 / 393.5", "3000 items: 3841 / 3693.5", "20 items: 64 / 32", "1000 items: 64 / 256"}},
	} {
		orders := &table.Table{
			Client: client, Name: libtest.Theirs(t, d.Client, "S"), PartitionKey: "customer", SortKey: "placed",
			Shards: table.Fixed(c.shards), Layout: table.CalculatedSuffix{},
		}
		var requests []types.WriteRequest
		for i := range items {
			sort := shard.Millis.Key(libtest.Epoch.Add(time.Duration(i)*time.Second), "#", fmt.Sprint("order-", i))
			pk := shard.Hash.Join("acme", shard.Calculated(sort, c.shards))
			it := table.Item{"customer": libtest.Str(pk), "placed": libtest.Str(sort), "text": libtest.Str(strings.Repeat("x", 965))}
			requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
			if len(requests) == 25 {
				if _, err := d.Client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{orders.Name: requests}}); err != nil {
					t.Fatal(err)
				}
				requests = nil
			}
		}
		query := func(s table.Span) (n int) {
			for _, err := range orders.Query(t.Context(), "acme", s, libtest.Epoch) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		pages := func(limit int) (n int) {
			s := table.Span{Limit: limit}
			for {
				page, err := orders.Page(t.Context(), "acme", s, libtest.Epoch)
				if err != nil {
					t.Fatal(err)
				}
				n += len(page.Items)
				if s.After = page.Next; s.After == "" || limit == 1000 {
					return n
				}
			}
		}
		for i, read := range []func() int{
			func() int { return query(table.Span{}) }, func() int { return pages(50) },
			func() int { return query(table.Span{Limit: 20}) }, func() int { return pages(1000) },
		} {
			limits.Reset()
			client.Made.Store(0)
			n := read()
			got := fmt.Sprintf("%d items: %d / %g", n, client.Made.Load(), limits.Stats().ReadUnits)
			if got != c.want[i] {
				t.Errorf("%d write shards, read %d: %s, want %s", c.shards, i, got, c.want[i])
			}
		}
	}
}
