package freshness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/test/virtualstream"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// breadth says how one key is spread.
type breadth struct {
	Type         kind.Kind // counter or entity
	WriteShards  int
	StreamShards int
	Fixed        int // containers, each always of the same stream shards; 0 is any that is free
	Window       time.Duration
}

// breadths are those that are compared.
var breadths = []breadth{
	{kind.Counter, 200, 20, 2, 500 * time.Millisecond},
	{kind.Counter, 200, 20, 0, 500 * time.Millisecond},
	{kind.Event, 200, 20, 2, 500 * time.Millisecond},
	{kind.Event, 200, 20, 0, 500 * time.Millisecond},
}

// errFailed: counters' folds of different stream shards must not meet.
var errFailed = errors.New("folds of a counter failed by their conditions")

// compareWide measures all breadths, and prints a table.
func compareWide(ctx context.Context, r *rig.Run, p pace) error {
	fmt.Fprintln(r, "Figures are without the first fifth of the time.\n\n| key | write shards | stream shards | containers | updates | updates each | failed conditions |\n| --- | ---: | ---: | --- | ---: | ---: | ---: |")
	for _, b := range breadths {
		c, err := b.measure(ctx, r.Endpoint, p)
		if err != nil {
			return fmt.Errorf("%s over %d write shards: %w", b.Type, b.WriteShards, err)
		}
		which := "any that is free"
		if b.Fixed > 0 {
			which = "always the same for a stream shard"
		}
		fmt.Fprintf(r, "| %s | %d | %d | %d, %s | %d | %.3f | %d |\n", b.Type, b.WriteShards, b.StreamShards, len(c.all), which,
			c.updates, float64(c.updates)/float64(max(1, c.updates-c.failed)), c.failed)
		if b.Type == kind.Counter && c.failed > 0 {
			return errFailed
		}
	}
	return nil
}

// containers are those of the aggregator. Each handles one batch at a time, as in Lambda.
// They count their updates, from a time on.
type containers struct {
	breadth
	start func(*containers) (*fold.Handler, error)
	from  time.Time

	mu              sync.Mutex
	all             []*container
	free            []*container // the one used last at the end
	updates, failed int          // all, and by their condition: those are made again
}

type container struct {
	sync.Mutex
	handler *fold.Handler
}

func (c *containers) note(_ *dynamodb.UpdateItemInput, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.from) {
		return
	}
	c.updates++
	if failed {
		c.failed++
	}
}

// Invoke hands a batch to a container.
func (c *containers) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var batch struct{ ShardID string }
	if err := json.Unmarshal(payload, &batch); err != nil {
		return nil, err
	}
	one, err := c.take(batch.ShardID)
	if err != nil {
		return nil, err
	}
	defer c.release(one)
	one.Lock()
	defer one.Unlock()
	return one.handler.Invoke(ctx, payload)
}

// take returns the container of a stream shard; without fixed ones the one that was
// used last of those that are free, or a new one.
func (c *containers) take(streamShard string) (*container, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.all) < c.Fixed || c.Fixed == 0 && len(c.free) == 0 {
		handler, err := c.start(c)
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, &container{handler: handler})
		c.free = append(c.free, c.all[len(c.all)-1])
	}
	if c.Fixed > 0 {
		hash := fnv.New32a()
		hash.Write([]byte(streamShard))
		return c.all[int(hash.Sum32())%c.Fixed], nil
	}
	last := len(c.free) - 1
	one := c.free[last]
	c.free = c.free[:last]
	return one, nil
}

func (c *containers) release(one *container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Fixed == 0 {
		c.free = append(c.free, one)
	}
}

// widePoll is slower than usual, since every stream shard reads the whole stream.
const widePoll = 200 * time.Millisecond

const wideName = "wide"

func (b breadth) measure(ctx context.Context, endpoint string, p pace) (c *containers, err error) {
	err = rig.With(ctx, endpoint, func(t *rig.Tables) error {
		if err := t.Pin(ctx, schema.BaseKey{Type: b.Type, Name: wideName}, b.WriteShards, time.Now().Add(-48*time.Hour)); err != nil {
			return err
		}
		stream, err := t.Stream(ctx, t.Names.Of(b.Type))
		if err != nil {
			return err
		}
		source, err := virtualstream.New(stream, virtualstream.Options{Shards: b.StreamShards, Seed: 1, Spread: virtualstream.ByPartitionKey})
		if err != nil {
			return err
		}
		c = &containers{breadth: b, from: time.Now().Add(p.lasting / 5), start: func(c *containers) (*fold.Handler, error) {
			return t.Aggregator(&rig.Updates{Client: t.DB, Note: c.note})
		}}
		m, err := t.Mapping(eventsource.MappingOptions{Name: "aggregator", Source: source, Handler: c, BatchingWindow: b.Window, PollInterval: widePoll})
		if err != nil {
			return err
		}
		if err := rig.During(ctx, m, func(ctx context.Context) error { return p.write(ctx, b.writer(t)) }); err != nil {
			return err
		}
		total, err := t.Folded(ctx)
		if want := int64(p.rate * p.lasting.Seconds()); err == nil && total != want {
			err = fmt.Errorf("the summaries have %d of %d writes", total, want)
		}
		return err
	})
	return c, err
}

// writer makes increments or events, one at a time.
func (b breadth) writer(t *rig.Tables) func(ctx context.Context, i int) error {
	view := shardmap.New(t.DB, t.Names.ShardMap, shardmap.Options{})
	if b.Type == kind.Counter {
		writer := counters.NewWriter(t.DB, t.Names.Items, view, counters.Options{})
		return func(ctx context.Context, _ int) error { return writer.Add(ctx, wideName, 1, time.Now()) }
	}
	writer := events.NewWriter(t.DB, t.Names.Events, view, events.Options{})
	return func(ctx context.Context, i int) error {
		now := time.Now()
		return writer.Put(ctx, []events.Event{{Entity: wideName, ID: strconv.Itoa(i), Time: now, Data: dynamo.Item{"temperature": dynamo.Number(int64(i % 40))}}}, now)[0]
	}
}
