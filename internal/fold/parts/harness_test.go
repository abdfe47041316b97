package parts_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

type item = dynamo.Item

// rig is a rollups table with a store and two containers of the aggregator.
type rig struct {
	db         *dynamodb.Client
	table      string
	store      *parts.Store[parts.Rollup]
	containers [2]*fold.Handler
}

func newRig(t *testing.T) *rig {
	t.Helper()
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	r := &rig{db: db, table: names.Rollups}
	r.store = parts.NewEvents(db, r.table, time.Now)
	r.restart(t)
	return r
}

// restart replaces the containers by two that cache nothing.
func (r *rig) restart(t rapid.TB) {
	t.Helper()
	for i := range r.containers {
		var err error
		r.containers[i], err = fold.New(fold.Settings{RollupsTable: r.table, Rollups: true}, r.db, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
	}
}

var hour = enginetest.Yesterday()

func bucketOf(entity string) parts.Bucket {
	return parts.Bucket{Entity: entity, Start: hour}
}

// payload returns a delivery of a stream shard's events from number from up to, and without, number to.
// Sequence numbers, temperatures and ids go up by one.
func payload(entity, streamShard string, from, to int) []byte {
	var records []string
	for n := from; n < to; n++ {
		keys := fmt.Sprintf(`"pk":{"S":"E#%s#%s#0"},"sk":{"S":%q}`, entity, shard.Day.Label(hour), schema.EventSortKey(hour, fmt.Sprint(streamShard, n)))
		records = append(records, fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"Keys":{%s},"SequenceNumber":"%d","NewImage":{%s,"data":{"M":{"t":{"N":"%d"}}}}}}`, keys, 95+n, keys, n))
	}
	return enginetest.WindowedBatch(streamShard, records...)
}

// fold delivers events to a container, as payload numbers them.
func (r *rig) fold(t rapid.TB, container int, entity, streamShard string, from, to int) {
	t.Helper()
	out, err := r.containers[container].Invoke(context.Background(), payload(entity, streamShard, from, to))
	if err != nil || bytes.Contains(out, []byte("itemIdentifier")) {
		t.Fatalf("folding %d to %d of %s: %s, %v", from, to, streamShard, out, err)
	}
}

func (r *rig) read(t rapid.TB, entity string) []parts.Part[parts.Rollup] {
	t.Helper()
	list, err := r.store.Read(context.Background(), bucketOf(entity).Key())
	require.NoError(t, err)
	return list
}

func (r *rig) replace(entity string, read []parts.Part[parts.Rollup]) error {
	_, err := r.store.Replace(context.Background(), bucketOf(entity).Key(), read, sum(read), 0, nil)
	return err
}

func sum(list []parts.Part[parts.Rollup]) (total parts.Rollup) {
	for _, p := range list {
		total.Merge(p.Value)
	}
	return total
}

// check compares the sum of the fragments with that of this number of events of each stream shard.
func (r *rig) check(t rapid.TB, entity string, folded ...int) {
	t.Helper()
	events, temperatures, highest := 0, 0, -1
	for _, n := range folded {
		events, temperatures, highest = events+n, temperatures+n*(n-1)/2, max(highest, n-1)
	}
	got := sum(r.read(t, entity))
	if got.Events != int64(events) {
		t.Fatalf("%d events, want %d", got.Events, events)
	}
	m := got.Measures["t"]
	if events > 0 && (m.N != int64(events) || m.Sum.String() != fmt.Sprint(temperatures) || m.Min.String() != "0" || m.Max.String() != fmt.Sprint(highest)) {
		t.Fatalf("got %+v, want n %d, sum %d, max %d", m, events, temperatures, highest)
	}
}

// watermark returns the sequence number of a stream shard's n-th event.
func watermark(n int) string { return fmt.Sprintf("%0*d", schema.RollupSequenceDigits, 95+n-1) }

// eventsOf returns the sum of this number of events of each stream shard.
func eventsOf(folded ...int) parts.Rollup {
	total := parts.Rollup{}.Clone()
	for _, n := range folded {
		for i := range n {
			total.Add(map[string]string{"t": fmt.Sprint(i)})
		}
	}
	return total
}
