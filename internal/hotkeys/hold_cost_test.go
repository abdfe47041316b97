package hotkeys_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// metered is a heat table that counts the units of its calls.
type metered struct {
	*fakeTable
	mu            sync.Mutex
	writes, reads float64
}

func (m *metered) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	m.mu.Lock()
	m.writes += float64((dynamo.Size(in.Item) + 1023) / 1024)
	m.mu.Unlock()
	return m.fakeTable.PutItem(ctx, in, o...)
}

// Query returns all items at once, and counts consistent reads of pages of 1 MB.
func (m *metered) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	m.fakeTable.mu.Lock()
	defer m.fakeTable.mu.Unlock()
	text := func(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }
	values, out, size := in.ExpressionAttributeValues, &dynamodb.QueryOutput{}, 0
	for _, key := range m.byPK[text(values[":pk"])] {
		item, ok := m.items[key]
		if !ok {
			item = m.layers[key]
		}
		if sk := text(item["sk"]); sk >= text(values[":low"]) && sk <= text(values[":high"]) {
			out.Items = append(out.Items, item)
			size += dynamo.Size(item)
		}
	}
	m.mu.Lock()
	m.reads += float64(max(1, (size+4095)/4096))
	m.mu.Unlock()
	return out, nil
}

// prices in write units: see internal/tool/bill.
const (
	readPrice   = 0.2 // of a read unit
	metricPrice = 16  // of a call of PutMetricData
)

// TestDetectorCost checks that heat items, layers and metrics cost at most 1 % of the writes, at any number of stream
// shards. Events are of 1,000 entities by Zipf's law with the exponent 1.1, of 1 unit, for ten minutes in a given clock.
// Batches come each batching window; one in fifty fails once and is redelivered after a lost answer, and one in fifty is
// bisected. One stream shard closes and has two children.
func TestDetectorCost(t *testing.T) {
	shards := []int{4, 9, 160, 1000}[:lane.Runs(3, 4)]
	for _, n := range shards {
		t.Run(fmt.Sprint(n), func(t *testing.T) { detectorCost(t, n, 1000) })
	}
}

func detectorCost(t *testing.T, shards int, rate int) {
	const length = 10 * time.Minute
	s := settings()
	s.PartitionWCU, s.Control = 1000, "act"
	s.Hold = plan.TumblingWindow(shards, s.Window)
	f := newFixture(s)
	table, sink := &metered{fakeTable: f.table}, &countingSink{Memory: f.sink}
	pages := 0
	deps := f.deps()
	deps.Heat, deps.Metrics = table, sink
	deps.Partitions = func(context.Context, string) (int, error) { pages += (shards + 99) / 100; return shards, nil }
	var err error
	if f.handler, err = hotkeys.New(s, deps); err != nil {
		t.Fatal(err)
	}
	type streamShard struct {
		batch
		next   int
		closed bool
	}
	list := make([]*streamShard, shards)
	for i := range list {
		list[i] = &streamShard{batch: batch{table: "events", shard: fmt.Sprintf("%020d-%08x", 1767589200000+i, i), length: s.Hold}, next: 1}
	}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 999)
	random := rand.New(rand.NewPCG(3, 4))
	invocations, sent := 0, uint64(0)
	invoke := func(b batch) map[string]string {
		invocations++
		return f.must(t, b.payload())
	}
	each, every := plan.BatchingWindow(shards), rate
	for at := time.Duration(0); at < length; at += each {
		f.now = start.Add(at + each)
		if at == length/2 { // the first stream shard splits: its tumbling window ends
			b := list[0]
			b.writes, b.final = nil, true
			invoke(b.batch)
			b.closed = true
			for _, child := range []string{"left", "right"} {
				list = append(list, &streamShard{batch: batch{table: "events", shard: child, length: s.Hold, later: at.Truncate(s.Hold)}, next: 1})
			}
		}
		records := make(map[int]writes)
		for i := range every * int(each.Seconds()) {
			key := zipf.Uint64()
			on := int((key*2654435761 + uint64(i)) % uint64(shards)) // events of an entity of many write shards
			if list[on].closed {
				on = shards + i%2
			}
			records[on] = append(records[on], write{key: fmt.Sprintf("E#sensor-%d#2026-01-05#%d", key, i%shards), at: (at + each/2).Seconds()})
			sent++
		}
		for on, b := range list {
			if window := at.Truncate(s.Hold); !b.closed && window != b.later {
				b.writes, b.final = nil, true
				before := b.state
				invoke(b.batch)
				if random.IntN(50) == 0 { // a lost answer
					b.state = before
					invoke(b.batch)
				}
				b.final, b.state, b.later = false, nil, window
			}
			all := records[on]
			if len(all) == 0 {
				continue
			}
			b.writes, b.first = all, b.next
			switch before := b.state; random.IntN(50) {
			case 0:
				invoke(b.batch)
				b.state = before
			case 1:
				b.writes = all[:len(all)/2]
				b.state = invoke(b.batch)
				b.writes, b.first = all[len(all)/2:], b.next+len(all)/2
			}
			b.state = invoke(b.batch)
			b.next += len(all)
		}
		if f.now.Truncate(time.Minute).Equal(f.now) {
			f.layersTask(t)
		}
	}
	for _, b := range list {
		if !b.closed {
			b.writes, b.final = nil, true
			invoke(b.batch)
		}
	}
	f.now = start.Add(length + s.Hold + 3*time.Minute)
	f.layersTask(t)
	f.layersTask(t)
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	found := uint64(0)
	for _, w := range f.windows(t, start, start.Add(length)) {
		found += w.Records
	}
	layered := uint64(0)
	for w, err := range f.reader().Windows(t.Context(), start, start.Add(length), 10*time.Minute) {
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range w.Items {
			layered += it.Records
		}
	}
	minutes := length.Minutes()
	cost := table.writes + readPrice*table.reads + metricPrice*float64(sink.calls)
	share := cost / float64(sent)
	t.Logf("%d stream shards, %d events/s, tumbling window %v: a minute %.0f invocations, %.0f heat WCU, %.0f RCU, %.1f PutMetricData, %.1f DescribeStream; %.2f %% of the writes; %d MB",
		shards, rate, s.Hold, float64(invocations)/minutes, table.writes/minutes, table.reads/minutes, float64(sink.calls)/minutes, float64(pages)/minutes, 100*share, memory.HeapAlloc>>20)
	if found != sent || layered != sent {
		t.Errorf("%d events were sent, heat items have %d, layers %d", sent, found, layered)
	}
	if hot := strings.Count(f.logs.String(), "hot key"); float64(sink.calls) > 2*minutes+2+float64(hot) {
		t.Errorf("%d calls of PutMetricData", sink.calls)
	}
	if share > 0.01 {
		t.Errorf("the detector costs %.2f %% of the writes", 100*share)
	}
	if calls := float64(pages) / minutes / 60; calls > 2 {
		t.Errorf("%.1f calls of DescribeStream a second", calls)
	}
}
