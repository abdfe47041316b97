package shardmap_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// metered counts requests and read units of the shard map's queries.
type metered struct {
	*dynamodb.Client
	mu       sync.Mutex
	requests int
	units    float64
}

func (m *metered) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.Query(ctx, &asked, o...)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	if err == nil {
		m.units += *out.ConsumedCapacity.CapacityUnits
	}
	return out, err
}

// takeCounts returns the counts since the last call, and resets them.
func (m *metered) takeCounts() (requests int, units float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests, units = m.requests, m.units
	m.requests, m.units = 0, 0
	return requests, units
}

// fillMap puts items of keys with three changes each, in the form that a Changer stores.
func fillMap(b testing.TB, client *dynamodb.Client, sharded string, keys int) {
	b.Helper()
	var puts []types.WriteRequest
	for n := range keys {
		pk, sk := schema.MapKey(fmt.Sprintf("E#tenant/device-%06d", n))
		notes := map[string]types.AttributeValue{}
		list := &types.AttributeValueMemberL{}
		for change := range 3 {
			at := fmt.Sprintf("17638081%02d.250", change)
			list.Value = append(list.Value, libtest.Str(fmt.Sprint(at, ":", 4<<(2*change))))
			notes[at] = &types.AttributeValueMemberM{Value: table.Item{
				"by": libtest.Str("ingest"), "why": libtest.Str("At least half its writes were throttled (1 shard)"),
			}}
		}
		number := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: table.Item{
			"pk": libtest.Str(pk), "sk": libtest.Str(sk), "number_of_shards": number("64"), "max_shards": number("64"),
			"last_updated": number("1763808102.250"), "effective_at": number("1763808107.250"), "version": number("3"),
			"pinned": &types.AttributeValueMemberBOOL{}, "shard_history": list, "notes": &types.AttributeValueMemberM{Value: notes},
		}}})
	}
	writeAll(b, client, sharded, puts)
}

// logChanges puts a number of changes into each log.
func logChanges(b testing.TB, client *dynamodb.Client, sharded string, changes int, now time.Time) {
	b.Helper()
	var puts []types.WriteRequest
	for n := range changes * schema.MapLogs {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: table.Item{
			"pk": libtest.Str(schema.MapLog(n % schema.MapLogs)), "sk": libtest.Str(schema.MapLogSK(now, fmt.Sprintf("%013d", n))),
			"key": libtest.Str(fmt.Sprintf("E#tenant/device-%06d", n/schema.MapLogs)), "version": &types.AttributeValueMemberN{Value: "4"},
			"shard_history": &types.AttributeValueMemberL{Value: []types.AttributeValue{libtest.Str("1763808100.250:4"), libtest.Str("1763808120.250:16")}},
			"expires_at":    &types.AttributeValueMemberN{Value: fmt.Sprint(now.Add(2 * time.Hour).Unix())},
		}}})
	}
	writeAll(b, client, sharded, puts)
}

func writeAll(b testing.TB, client *dynamodb.Client, table string, puts []types.WriteRequest) {
	b.Helper()
	for len(puts) > 0 {
		n := min(25, len(puts))
		out, err := client.BatchWriteItem(b.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: puts[:n]}})
		if err != nil {
			b.Fatal(err)
		}
		puts = append(puts[n:], out.UnprocessedItems[table]...)
	}
}
