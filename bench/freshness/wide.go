package freshness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// breadth says how one key is spread.
type breadth struct {
	Type         schema.Type   `json:"type"` // counter or entity
	WriteShards  int           `json:"write_shards"`
	StreamShards int           `json:"stream_shards"`
	Fixed        int           `json:"fixed_containers"` // 0 is for any that is free
	Window       time.Duration `json:"batching_window_ns"`
}

// breadths are those that are compared.
var breadths = []breadth{
	{schema.Counter, 200, 20, 2, 500 * time.Millisecond},
	{schema.Counter, 200, 20, 0, 500 * time.Millisecond},
	{schema.Entity, 200, 20, 2, 500 * time.Millisecond},
	{schema.Entity, 200, 20, 0, 500 * time.Millisecond},
}

// spreadOut is what a run of one breadth showed.
type spreadOut struct {
	breadth
	Containers int     `json:"containers"`
	Whole      figures `json:"whole_run"`
	Steady     figures `json:"steady_state"` // without the first fifth of the time
}

// each is how many updates a summary item took, in each batch.
func (f figures) each() float64 { return float64(f.Updates) / float64(max(1, f.Items)) }

// errFailed: counters' folds of different stream shards must not meet.
var errFailed = errors.New("folds of a counter failed by their conditions")

// compareWide measures all breadths, and prints a table.
func compareWide(ctx context.Context, w io.Writer, endpoint string, p pace) (results []spreadOut, err error) {
	fmt.Fprintln(w, "| key | write shards | stream shards | containers | records | batches | summary items, by batch | updates | updates each | failed conditions, steady | failed conditions, whole run |")
	fmt.Fprintln(w, "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, b := range breadths {
		s, err := b.measure(ctx, endpoint, p)
		if err != nil {
			return results, fmt.Errorf("%s over %d write shards: %w", b.Type, b.WriteShards, err)
		}
		which := "any that is free"
		if b.Fixed > 0 {
			which = "always the same for a stream shard"
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d, %s | %d | %d | %d | %d | %.3f | %d | %d |\n", b.Type, b.WriteShards, b.StreamShards, s.Containers, which,
			s.Steady.Records, s.Steady.Batches, s.Steady.Items, s.Steady.Updates, s.Steady.each(), s.Steady.Failed, s.Whole.Failed)
		results = append(results, s)
		if b.Type == schema.Counter && s.Steady.Failed > 0 {
			return results, errFailed
		}
	}
	return results, nil
}

// widePoll is slower than usual, since every stream shard reads the whole stream.
const widePoll = 200 * time.Millisecond

const wideName = "wide"

func (b breadth) measure(ctx context.Context, endpoint string, p pace) (s spreadOut, err error) {
	s.breadth = b
	t, err := rig.NewTables(ctx, endpoint, limiter.Options{})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := t.Pin(ctx, schema.BaseKey{Type: b.Type, Name: wideName}, b.WriteShards, time.Now().Add(-48*time.Hour)); err != nil {
		return s, err
	}
	stream, err := t.Stream(ctx)
	if err != nil {
		return s, err
	}
	source, err := eventsource.NewVirtual(stream, eventsource.VirtualOptions{Shards: b.StreamShards, Seed: 1, Spread: eventsource.ByPartitionKey})
	if err != nil {
		return s, err
	}
	figures := &tally{}
	client := &rig.Updates{Client: t.DB, Note: figures.update}
	containers := &pool{tally: figures, fixed: b.Fixed, start: func() (*rollup.Handler, error) { return t.Aggregator(client) }}
	m, err := t.Mapping(eventsource.MappingOptions{Name: "aggregator", Source: source, Handler: containers, BatchingWindow: b.Window, PollInterval: widePoll})
	if err != nil {
		return s, err
	}
	if err := rig.During(ctx, m, func(ctx context.Context) error { return s.early(ctx, p, containers, b.writer(t)) }); err != nil {
		return s, err
	}
	s.Whole, s.Containers = containers.now(), len(containers.all)
	s.Steady = s.Whole.minus(s.Steady)
	total, err := t.Folded(ctx)
	if want := int64(p.rate * p.lasting.Seconds()); err == nil && total != want {
		err = fmt.Errorf("the summaries have %d of %d writes", total, want)
	}
	return s, err
}

// early makes the writes, and keeps the figures of the first fifth of the time.
func (s *spreadOut) early(ctx context.Context, p pace, containers *pool, one func(context.Context, int) error) error {
	begun := make(chan struct{})
	time.AfterFunc(p.lasting/5, func() { s.Steady = containers.now(); close(begun) })
	err := p.write(ctx, one)
	<-begun
	return err
}

func (f figures) minus(o figures) figures {
	return figures{f.Records - o.Records, f.Batches - o.Batches, f.Items - o.Items, f.Updates - o.Updates, f.Failed - o.Failed}
}

// writer makes increments or events, one at a time.
func (b breadth) writer(t *rig.Tables) func(ctx context.Context, i int) error {
	view := shardmap.New(t.DB, t.Names.ShardMap, shardmap.Options{})
	if b.Type == schema.Counter {
		writer := counters.NewWriter(t.DB, t.Names.Items, view, counters.Options{})
		return func(ctx context.Context, _ int) error { return writer.Add(ctx, wideName, 1, time.Now()) }
	}
	writer := events.NewWriter(t.DB, t.Names.Items, view, events.Options{})
	return func(ctx context.Context, i int) error {
		now := time.Now()
		return writer.Put(ctx, []events.Event{{Entity: wideName, ID: strconv.Itoa(i), Time: now, Data: rig.Item{"temperature": rig.N(i % 40)}}}, now)[0]
	}
}
