package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/schema"
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
	r, err := newRig(ctx, endpoint)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.spread(ctx, b); err != nil {
		return s, err
	}
	source, err := local.NewVirtual(r.source, local.VirtualOptions{Shards: b.StreamShards, Seed: 1, Spread: local.ByPartitionKey})
	if err != nil {
		return s, err
	}
	t := &tally{Client: r.db}
	containers := &pool{tally: t, fixed: b.Fixed, start: func() (*rollup.Handler, error) { return r.aggregator(t) }}
	m, err := r.mapping(source, containers, b.Window, widePoll)
	if err != nil {
		return s, err
	}
	var early figures
	err = during(ctx, m, func(ctx context.Context) error {
		begun := make(chan struct{})
		time.AfterFunc(p.lasting/5, func() { early = containers.now(); close(begun) })
		err := p.write(ctx, r.writer(b))
		<-begun
		return err
	})
	s.Whole, s.Containers = containers.now(), len(containers.all)
	s.Steady = s.Whole.minus(early)
	if err == nil {
		err = r.check(ctx, b, p.count())
	}
	return s, err
}

func (f figures) minus(o figures) figures {
	return figures{f.Records - o.Records, f.Batches - o.Batches, f.Items - o.Items, f.Updates - o.Updates, f.Failed - o.Failed}
}

// spread gives the key its write shards, for all time.
func (r *rig) spread(ctx context.Context, b breadth) error {
	pk, sk := schema.MapKey(schema.BaseKey{Type: b.Type, Name: wideName}.String())
	_, err := r.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.names.ShardMap, Item: map[string]types.AttributeValue{
		schema.PK:       &types.AttributeValueMemberS{Value: pk},
		schema.SK:       &types.AttributeValueMemberS{Value: sk},
		"shard_history": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: fmt.Sprintf("1:%d", b.WriteShards)}}},
		"version":       &types.AttributeValueMemberN{Value: "1"},
	}})
	if err != nil {
		return fmt.Errorf("setting the shard count: %w", err)
	}
	return nil
}

// writer makes increments or events, one at a time.
func (r *rig) writer(b breadth) func(ctx context.Context, i int) error {
	view := shardmap.New(r.db, r.names.ShardMap, shardmap.Options{})
	if b.Type == schema.Counter {
		writer := counters.NewWriter(r.db, r.names.Items, view, counters.Options{})
		return func(ctx context.Context, _ int) error { return writer.Add(ctx, wideName, 1, time.Now()) }
	}
	writer := events.NewWriter(r.db, r.names.Items, view, events.Options{})
	return func(ctx context.Context, i int) error {
		now := time.Now()
		return writer.Put(ctx, []events.Event{{
			Entity: wideName, ID: strconv.Itoa(i), Time: now,
			Data: map[string]types.AttributeValue{"temperature": &types.AttributeValueMemberN{Value: strconv.Itoa(i % 40)}},
		}}, now)[0]
	}
}

// check wants all writes in the summaries, once.
func (r *rig) check(ctx context.Context, b breadth, want int) error {
	got := int64(0)
	pages := dynamodb.NewScanPaginator(r.db, &dynamodb.ScanInput{TableName: &r.names.Rollups})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("reading the summaries: %w", err)
		}
		for _, item := range page.Items {
			for name := range item {
				if !schema.IsValueAttr(name) && name != schema.RollupEvents {
					continue
				}
				n, err := whole(item, name)
				if err != nil {
					return err
				}
				got += n
			}
		}
	}
	if got != int64(want) {
		return fmt.Errorf("the summaries have %d of %d writes", got, want)
	}
	return nil
}
