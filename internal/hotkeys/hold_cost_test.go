package hotkeys_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// metered is a heat table that counts the capacity units of its calls.
type metered struct {
	*fakeTable
	mu            sync.Mutex
	writes, reads float64
	queries       int
	burst         map[string]float64 // write units by partition key since the clock was set last
	most          float64            // the highest value that burst had
	heap          uint64             // heap bytes at a call, at most, garbage included
}

func (m *metered) wrote(item dynamo.Item, units int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pk := dynamo.Text(item, "pk")
	m.writes += float64(units)
	m.burst[pk] += float64(units)
	m.most = max(m.most, m.burst[pk])
}

func (m *metered) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	m.wrote(in.Item, (dynamo.Size(in.Item)+1023)/1024)
	return m.fakeTable.PutItem(ctx, in, o...)
}

func (m *metered) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	m.wrote(in.Key, 2)
	return m.fakeTable.UpdateItem(ctx, in, o...)
}

// Query counts the units of a page as those of a consistent read.
func (m *metered) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := m.fakeTable.Query(ctx, in, o...)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, item := range out.Items {
		size += dynamo.Size(item)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads += float64(max(1, (size+4095)/4096))
	m.queries++
	m.heap = max(m.heap, heapBytes())
	return out, nil
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Prices in write units.
const (
	readPrice   = 0.2 // of a read unit
	metricPrice = 16  // of a call of PutMetricData
)

// TestDetectorCost checks that heat items, minutes and metrics cost at most 1 % of the writes with any number of stream
// shards, that a response costs about as much with 160 as with 4 (in the long run), and that exactly the hot keys have metrics.
//
// Events of one unit have 1,000 Zipf-distributed entities with the exponent 1.1, for ten minutes of a given clock. In
// one window three keys are at 1.05 times the threshold, and three at 0.95. One batch in fifty is redelivered after a
// lost response, and one is bisected. One stream shard closes and has two children.
func TestDetectorCost(t *testing.T) {
	shards := []int{4, 160, 9, 1000}[:require.Runs(1, 4)]
	responses := make(map[int]map[string]responseCost)
	for _, n := range shards {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newScale(t, n, 1000)
			s.run(t, 10*time.Minute)
			responses[n] = s.responses
		})
	}
	for path, few := range responses[4] {
		if many := responses[160][path]; many.readUnits > 1.1*few.readUnits {
			t.Errorf("GET %s costs %.0f RCU at 160 stream shards, and %.0f at 4", path, many.readUnits, few.readUnits)
		}
	}
}

// BenchmarkDetectorCost logs the costs with more stream shards and at a higher rate, for five minutes of the clock
// each.
func BenchmarkDetectorCost(b *testing.B) {
	for _, rate := range []int{1000, 50_000} {
		for _, n := range []int{160, 1000, 3000, 8000} {
			b.Run(fmt.Sprintf("rate=%d/shards=%d", rate, n), func(b *testing.B) {
				for range b.N {
					s, length := newScale(b, n, rate), 5*time.Minute
					if n == 8000 && rate == 50_000 { // shorter, since it has 15 million records
						s = newHeldScale(b, n, rate, time.Minute)
						length = time.Minute
					}
					s.run(b, length)
				}
			})
		}
	}
}

// scale is a detector of a table with many stream shards, and its costs.
type scale struct {
	*fixture
	settings hotkeys.Settings
	table    *metered
	sink     *countingSink
	random   *rand.Rand
	zipf     *rand.Zipf
	rate     int
	shards   []*scaleShard
	of       int // stream shards at the start

	hotAt                    time.Duration // start of the window with hot keys
	pages, invocations, runs int           // runs of the heat task
	paused                   time.Duration // in a run of the heat task
	sent                     uint64
	cpu, heatCPU             time.Duration // in total, and of the longest run of the heat task
	taskHeap                 uint64        // heap bytes that a run of the heat task added, at most
	responses                map[string]responseCost
}

// responseCost is the cost of an HTTP response.
type responseCost struct {
	readUnits      float64 // eventually consistent
	queries        int
	cpu            time.Duration
	allocated, use uint64 // bytes: in total, and in use at a query, at most
}

func (c responseCost) String() string {
	return fmt.Sprintf("%.0f RCU, %d queries, %d ms, %d MB allocated, %d MB in use", c.readUnits, c.queries, c.cpu.Milliseconds(), c.allocated>>20, c.use>>20)
}

type scaleShard struct {
	batch
	records writes
	next    int
	closed  bool
}

func newScale(t testing.TB, shards, rate int) *scale {
	return newHeldScale(t, shards, rate, plan.TumblingWindow(shards, settings().Window))
}

func newHeldScale(t testing.TB, shards, rate int, hold time.Duration) *scale {
	s := &scale{settings: settings(), of: shards, rate: rate, responses: make(map[string]responseCost), random: rand.New(rand.NewPCG(3, 4)), zipf: rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 999)}
	s.settings.PartitionWCU, s.settings.Hold = 1000, hold
	s.fixture = newFixture(s.settings)
	s.fixture.table.largePages = true
	s.table, s.sink = &metered{fakeTable: s.fixture.table, burst: make(map[string]float64)}, &countingSink{MemorySink: s.fixture.sink}
	s.rebuild(t, s.settings, func(deps *hotkeys.Deps) {
		deps.Heat, deps.Metrics = s.table, s.sink
		deps.Partitions = hotkeys.CountPartitions(&describer{streamOf(4), streamOf(shards), &s.pages}, func(_ context.Context, d time.Duration) bool {
			s.paused += d
			return s.paused < 50*time.Second // bounds both counts of a run
		})
	})
	for i := range shards {
		s.add(fmt.Sprintf("%020d-%08x", 1767589200000+i, i), 0)
	}
	return s
}

func (s *scale) add(name string, later time.Duration) {
	s.shards = append(s.shards, &scaleShard{batch: batch{table: "events", shard: name, length: s.settings.Hold, later: later}, next: 1})
}

func (s *scale) invoke(t testing.TB, b *batch) map[string]string {
	s.invocations++
	payload, before := b.payload(), require.CPUTime()
	state := s.must(t, payload)
	s.cpu += require.CPUTime() - before
	return state
}

func (s *scale) heatRun(t testing.TB) {
	s.runs++
	s.table.heap, s.paused = 0, 0
	heap, before := heapBytes(), require.CPUTime()
	s.heatTask(t)
	used := require.CPUTime() - before
	s.cpu += used
	s.heatCPU = max(s.heatCPU, used)
	s.taskHeap = max(s.taskHeap, s.table.heap-min(heap, s.table.heap))
}

// describer counts calls of DescribeStream. The table events has its own stream.
type describer struct {
	fakeStream
	events fakeStream
	pages  *int
}

func (d *describer) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	*d.pages++
	if strings.Contains(*in.StreamArn, "hotshard-events") {
		return d.events.DescribeStream(ctx, in, o...)
	}
	return d.fakeStream.DescribeStream(ctx, in, o...)
}

// streamOf returns a stream with so many open stream shards, after those that were closed within a day. Each stream
// shard rotates every four hours.
func streamOf(open int) fakeStream {
	return fakeStream{closed: append(slices.Repeat([]bool{true}, 6*open), make([]bool, open)...), page: 100}
}

// measureResponses measures GET /v1/heat and GET /v1/hot-keys. Of several calls it keeps the highest costs.
func (s *scale) measureResponses(t testing.TB) {
	api := heatAPI(heat.WindowReader{Client: s.table, Table: "heat"}, func() time.Time { return s.now })
	for _, path := range []string{"/v1/heat", "/v1/hot-keys"} {
		runtime.GC()
		s.table.heap = 0
		reads, queries, heap, cpu, got := s.table.reads, s.table.queries, heapBytes(), require.CPUTime(), httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		api.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		runtime.ReadMemStats(&after)
		if got.Code != http.StatusOK {
			t.Fatal(got.Body)
		}
		c, most := responseCost{(s.table.reads - reads) / 2, s.table.queries - queries, require.CPUTime() - cpu, after.TotalAlloc - before.TotalAlloc, s.table.heap - min(heap, s.table.heap)}, s.responses[path]
		s.responses[path] = responseCost{max(most.readUnits, c.readUnits), max(most.queries, c.queries), max(most.cpu, c.cpu), max(most.allocated, c.allocated), max(most.use, c.use)}
		s.table.reads = reads // not the detector's
	}
}

// write adds a record to a stream shard, or to a child of the one that closed.
func (s *scale) write(key string, on int, at float64) {
	if s.shards[on].closed {
		on = s.of + int(s.sent%2)
	}
	s.shards[on].records = append(s.shards[on].records, write{key: key, at: at})
	s.sent++
}

// writeAll makes the writes of a batching window.
func (s *scale) writeAll(at, length time.Duration) {
	for second := at; second < at+length; second += time.Second {
		for i := range s.rate {
			key := s.zipf.Uint64()
			on := int((key*2654435761 + s.sent) % uint64(s.of)) // events of an entity of many write shards
			s.write("E#sensor-"+strconv.FormatUint(key, 10)+"#2026-01-05#"+strconv.Itoa(i%s.of), on, second.Seconds())
		}
		for i := range 3 {
			if second >= s.hotAt && second < s.hotAt+10*time.Second {
				for range 735 {
					s.write(fmt.Sprintf("E#hot-%d#2026-01-05#0", i), i, second.Seconds())
				}
				for range 665 {
					s.write(fmt.Sprintf("E#decoy-%d#2026-01-05#0", i), s.of-1-i, second.Seconds())
				}
			}
		}
	}
}

// deliver delivers a stream shard's records, and ends a tumbling window that is over.
func (s *scale) deliver(t testing.TB, b *scaleShard, window time.Duration) {
	if !b.closed && window != b.later {
		b.writes, b.final = nil, true
		before := b.state
		s.invoke(t, &b.batch)
		if s.random.IntN(50) == 0 { // a lost response
			b.state = before
			s.invoke(t, &b.batch)
		}
		b.final, b.state, b.later = false, nil, window
	}
	const most = 10_000 // records of a batch
	for all := range slices.Chunk(b.records, most) {
		b.writes, b.first = all, b.next
		switch before := b.state; s.random.IntN(50) {
		case 0:
			s.invoke(t, &b.batch)
			b.state = before
		case 1:
			b.writes = all[:len(all)/2]
			b.state = s.invoke(t, &b.batch)
			b.writes, b.first = all[len(all)/2:], b.next+len(all)/2
		}
		b.state = s.invoke(t, &b.batch)
		b.next += len(all)
	}
	b.records = b.records[:0]
}

func (s *scale) end(t testing.TB, b *scaleShard) {
	b.writes, b.final, b.closed = nil, true, true
	s.invoke(t, &b.batch)
}

func (s *scale) run(t testing.TB, length time.Duration) {
	each := plan.BatchingWindow(s.of)
	s.hotAt = min(100*time.Second, length/3)
	for at := time.Duration(0); at < length; at += each {
		s.now = start.Add(at + each)
		clear(s.table.burst)
		if at == length/2 { // the first stream shard splits: its tumbling window ends
			s.end(t, s.shards[0])
			s.add("left", at.Truncate(s.settings.Hold))
			s.add("right", at.Truncate(s.settings.Hold))
		}
		s.writeAll(at, each)
		for _, b := range s.shards {
			s.deliver(t, b, at.Truncate(s.settings.Hold))
		}
		if at+each >= length {
			s.measureResponses(t)
		}
		if s.now.Truncate(time.Minute).Equal(s.now) {
			s.heatRun(t)
		}
	}
	for _, b := range s.shards {
		if !b.closed {
			s.end(t, b)
		}
	}
	s.now = start.Add(length + 2*time.Minute)
	s.heatRun(t)
	s.now = s.now.Add(9 * time.Second)
	s.measureResponses(t)
	s.now = start.Add(length + s.settings.Hold + 3*time.Minute)
	s.heatRun(t)
	s.heatRun(t)
	s.check(t, length)
}

func (s *scale) check(t testing.TB, length time.Duration) {
	found, folded, minutes := uint64(0), uint64(0), length.Minutes()
	share := (s.table.writes + readPrice*s.table.reads + metricPrice*float64(s.sink.calls)) / float64(s.sent)
	t.Logf("%d stream shards, %d events/s, tumbling window %v: a minute %.0f invocations, %.0f heat WCU, %.0f RCU, %.1f PutMetricData, %.1f DescribeStream; %.2f %% of the writes; "+
		"CPU %.0f ms a minute, heat task %d ms and %d MB at most; %.0f WCU at once to one partition key",
		s.of, s.rate, s.settings.Hold, float64(s.invocations)/minutes, s.table.writes/minutes, s.table.reads/minutes, float64(s.sink.calls)/minutes, float64(s.pages)/float64(s.runs), 100*share,
		float64(s.cpu.Milliseconds())/minutes, s.heatCPU.Milliseconds(), s.taskHeap>>20, s.table.most)
	for path, c := range s.responses {
		t.Logf("%d stream shards, %d events/s: GET %s %v", s.of, s.rate, path, c)
	}
	for _, w := range s.windows(t, start, start.Add(length)) {
		found += w.Records
	}
	for w, err := range s.reader().Windows(t.Context(), start, start.Add(length), 10*time.Minute) {
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range w.Items {
			folded += it.Records
		}
	}
	if found != s.sent || folded != s.sent {
		t.Errorf("%d events were sent, heat items have %d, blocks and minutes %d", s.sent, found, folded)
	}
	named := slices.Sorted(maps.Keys(s.values("KeyWriteUnitsPerSecond")))
	if diff := cmp.Diff([]string{"hotshard-events E#hot-0", "hotshard-events E#hot-1", "hotshard-events E#hot-2"}, named); diff != "" {
		t.Errorf("hot keys (-want +got):\n%s", diff)
	}
	if hot := strings.Count(s.logs.String(), "hot key"); float64(s.sink.calls) > 2*minutes+2+float64(hot) {
		t.Errorf("%d calls of PutMetricData", s.sink.calls)
	}
	if share > 0.01 {
		t.Errorf("the detector costs %.2f %% of the writes", 100*share)
	}
	if calls := float64(s.pages) / float64(s.runs) / 60; calls > 2 {
		t.Errorf("%.1f calls of DescribeStream a second", calls)
	}
}
