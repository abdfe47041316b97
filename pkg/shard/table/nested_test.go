package table_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// full is a client whose calls are all throttled.
type full struct {
	*dynamodb.Client
	sent atomic.Int64
}

func (f *full) throttle() error { f.sent.Add(1); return libtest.Hot(libtest.TableHot) }

func (f *full) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, f.throttle()
}

func (f *full) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, f.throttle()
}

func (f *full) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, f.throttle()
}

func (f *full) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return nil, f.throttle()
}

func (f *full) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return nil, f.throttle()
}

// TestThrottledMapIsReadOnce checks that a put and a read without a deadline end when the map's read has made its
// attempts. They don't repeat the read.
func TestThrottledMapIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(libtest.Epoch)) // the order is not ahead
		for name, call := range map[string]func(*table.Table) error{
			"put": func(s *table.Table) error { return s.Put(t.Context(), libtest.Order(1), time.Now()) },
			"get": func(s *table.Table) error { _, err := s.Get(t.Context(), libtest.Order(1), time.Now()); return err },
		} {
			db, begun := &full{}, time.Now()
			orders := &table.Table{
				Client: db, Name: "t", PartitionKey: "customer", SortKey: "placed", Layout: table.CalculatedSuffix{Time: table.SortTime("placed", "")},
				Shards: shardmap.New(db, "m", shardmap.Options{}),
			}
			err := call(orders)
			if took := time.Since(begun); took > 10*time.Second || db.sent.Load() > 100 || err == nil || errors.Is(err, shard.ErrMisused) || strings.Contains(err.Error(), "write capacity") {
				t.Errorf("%s: %d calls in %v, error %v; want at most 100 in 10 s, and no write throttle", name, db.sent.Load(), took, err)
			}
		}
	})
}
