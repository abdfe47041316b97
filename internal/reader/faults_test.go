package reader_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/reader"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// faulty is a client whose writes fail at random, half of them after they were applied.
type faulty struct {
	*dynamodb.Client
	mu     *sync.Mutex
	random *rand.Rand
	failed *int
}

var errBroken = errors.New("the connection broke")

func (f faulty) write(do func() error) error {
	f.mu.Lock()
	n := f.random.IntN(10)
	if n < 2 {
		*f.failed++
	}
	f.mu.Unlock()
	if n == 0 {
		return errBroken
	}
	if err := do(); err != nil || n > 1 {
		return err
	}
	return errBroken
}

func (f faulty) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	err = f.write(func() error { out, err = f.Client.PutItem(ctx, in, o...); return err })
	return out, err
}

func (f faulty) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = f.write(func() error { out, err = f.Client.UpdateItem(ctx, in, o...); return err })
	return out, err
}

// TestOneReaderUnderFaults writes counters and events while writes of the detector and the aggregator fail. One reader
// folds all of them and counts each write once. An item that can't be folded holds up nothing.
func TestOneReaderUnderFaults(t *testing.T) {
	t.Parallel()
	client := faulty{enginetest.Client(t), &sync.Mutex{}, rand.New(rand.NewPCG(require.Seed(t), 0)), new(int)}
	names := enginetest.Tables(t, client.Client)
	stop := deliver(t, client, names)
	view := shardmap.New(client.Client, names.ShardMap, shardmap.Options{})
	counter := counters.NewWriter(client.Client, names.Items, view, counters.Options{})
	event := events.NewWriter(client.Client, names.Events, view, events.Options{})
	from, units := time.Now(), map[string]uint64{}
	enginetest.Put(t, client.Client, names.Items, map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "C#broken#1"}, "sk": &types.AttributeValueMemberS{Value: "-"}, "n": &types.AttributeValueMemberS{Value: "x"},
	})
	units["C#broken#1"]++
	for i := range 60 {
		name, now := fmt.Sprint("c", i%4), time.Now()
		require.NoError(t, counter.Add(t.Context(), name, 1, now))
		require.NoError(t, event.Put(t.Context(), []events.Event{{Entity: "e", ID: fmt.Sprint(i), Time: now}}, now)[0])
		units["C#"+name+"#0"]++
		units[fmt.Sprintf("E#e#%s#0", now.UTC().Format(time.DateOnly))]++
		time.Sleep(30 * time.Millisecond)
	}
	stop()
	if *client.failed == 0 {
		t.Error("no write failed")
	}
	for key, got := range counted(t, client.Client, names, from) {
		if got != units[key] {
			t.Errorf("%s: %d write units counted, want %d", key, got, units[key])
		}
		delete(units, key)
	}
	if len(units) > 0 {
		t.Errorf("not counted: %v", units)
	}
	if n := rolledUp(t, client.Client, names, "e", from); n != 60 {
		t.Errorf("%d events are rolled up, want 60", n)
	}
}

// deliver runs the reader until stop is called, which drains the streams.
func deliver(t *testing.T, client faulty, names schema.Names) (stop func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	settings := hotkeys.Settings{
		ItemsTable: names.Items, EventsTable: names.Events, HeatTable: names.Heat, ShardMapTable: names.ShardMap,
		Window: time.Second, PartitionWCU: 1000, Threshold: 0.7, TopK: 100, Control: "act", MetricNames: "plain", EventAhead: 2 * time.Second,
	}
	detector, err := hotkeys.New(settings, hotkeys.Deps{
		Heat: client, Shards: hotkeys.OpenShards(client, settings), Log: log, Now: time.Now,
	})
	require.NoError(t, err)
	aggregator, err := fold.New(fold.Settings{RollupsTable: names.Rollups, ItemsTable: names.Items, ShardMapTable: names.ShardMap, Rollups: true}, client, log)
	require.NoError(t, err)
	return enginetest.Deliver(t, client.Client, names, "reader", reader.New(detector, aggregator, log, time.Now), func(o *eventsource.MappingOptions) { o.BatchSize = 8 })
}

// counted returns the detector's write units of each partition key since from.
func counted(t *testing.T, db *dynamodb.Client, names schema.Names, from time.Time) map[string]uint64 {
	t.Helper()
	units := map[string]uint64{}
	for window, err := range (heat.WindowReader{Client: db, Table: names.Heat, Consistent: true}).Windows(t.Context(), from.Add(-time.Minute), time.Now().Add(time.Minute), time.Second) {
		require.NoError(t, errors.Join(append(window.Unreadable, err)...))
		for _, it := range window.Items {
			for _, k := range it.Keys {
				units[k.Key] += k.Units
			}
		}
	}
	return units
}

// rolledUp returns the number of an entity's events in rollups since from.
func rolledUp(t *testing.T, db *dynamodb.Client, names schema.Names, entity string, from time.Time) (n int64) {
	t.Helper()
	for _, pk := range schema.RollupPartitions(entity, from.Add(-time.Minute), time.Now().Add(time.Minute)) {
		for _, it := range enginetest.Query(t, db, names.Rollups, pk) {
			events, err := dynamo.Integer(it, schema.RollupEvents)
			require.NoError(t, err)
			n += events
		}
	}
	return n
}
