package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ErrUnreadable means that an attribute of a counter's item is invalid; use errors.Is.
var ErrUnreadable = errors.New("an item of the counter can't be read")

// Summaries reads counters from write shard 0 and the aggregator's summary of the others.
type Summaries struct {
	client         ReaderClient
	items, rollups string
	shards         *shardmap.Map
}

// NewSummaries returns a Summaries over the items table and the rollups table.
func NewSummaries(client ReaderClient, items, rollups string, shards *shardmap.Map) *Summaries {
	return &Summaries{client: client, items: items, rollups: rollups, shards: shards}
}

// Summary is a counter's value: write shard 0 at the time of the read, plus the others as the
// aggregator last folded them.
type Summary struct {
	Value *big.Int // 0 if Err is not nil
	// AsOf is the time of the newest fold, or of the first growth if nothing was folded since. It is ReadAt if the
	// counter never had more than one write shard, or if neither time is known.
	AsOf   time.Time
	ReadAt time.Time // the time that Read was given
	Shards int       // the newest shard count
	Err    error     // wraps ErrUnreadable; other counters of the call are not affected
}

// mapWait bounds how long a read waits for a newer view of the shard map.
const mapWait = time.Second

// Read returns the values of counters, in the order of their names. Each costs an eventually consistent read of an item
// of the items table, and one of the rollups table per 64 write shards if the counter ever had several, or if write
// shard 0 is absent. A counter that was never written is 0. A repeated name is read once.
//
// Read learns which items to read from the shard map and from the attribute n of write shard 0. If the shard
// map can't be read, Read misses the write shards of a recent growth until a write reaches write shard 0.
func (s *Summaries) Read(ctx context.Context, names []string, now time.Time) ([]Summary, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(s.client, s.shards, names...)); err != nil {
		return nil, err
	}
	counters := map[string]*counter{} // by partition key of write shard 0
	list := make([]*counter, len(names))
	var keys []dynamo.Item
	for i, name := range names {
		key := dynamo.Key(schema.CounterKey(name, 0))
		pk := dynamo.Text(key, schema.PK)
		if counters[pk] == nil {
			counters[pk] = &counter{name: name, value: new(big.Int)}
			keys = append(keys, key)
		}
		list[i] = counters[pk]
	}
	if err := s.readItems(ctx, counters, keys, now); err != nil {
		return nil, fmt.Errorf("reading counters: %w", err)
	}
	summaries := make([]Summary, len(names))
	for i, c := range list {
		summaries[i] = c.summary(now)
	}
	return summaries, nil
}

// readItems adds to the counters the items of write shard 0, whose keys are given, and the partial summaries. At the
// same time as these items, it reads the partials of the write shards in the shard map. Then it reads the partials of
// further write shards, if an item of write shard 0 has a larger count.
func (s *Summaries) readItems(ctx context.Context, counters map[string]*counter, keys []dynamo.Item, now time.Time) error {
	var zeros []dynamo.Item
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		zeros, err = dynamo.BatchGet(groupCtx, s.client, s.items, keys, false)
		return err
	})
	group.Go(func() error {
		s.lookUpAll(groupCtx, counters, now)
		return s.readPartials(groupCtx, counters)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	for _, it := range zeros {
		counters[dynamo.Text(it, schema.PK)].addFirstShard(it)
	}
	for _, c := range counters {
		if !c.written {
			c.leastPartials = 1
		}
	}
	return s.readPartials(ctx, counters)
}

// lookUpAll sets each counter's shard counts from the shard map. It waits for a newer view for up to mapWait, or half
// of the time until the deadline if that is shorter, and then uses the old view.
func (s *Summaries) lookUpAll(ctx context.Context, counters map[string]*counter, now time.Time) {
	wait := mapWait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for _, c := range counters {
		entry, err := s.shards.Lookup(ctx, Key(c.name), now)
		if err != nil {
			cancel() // the other look-ups use the old view at once
		}
		c.shards, c.mostShards, c.singleUntil = entry.History.Newest(), entry.Most(), s.shards.SingleUntil(entry)
	}
}

// readPartials reads the counters' partial summaries that were not requested yet.
func (s *Summaries) readPartials(ctx context.Context, counters map[string]*counter) error {
	owner := map[string]*counter{} // by partition key
	var keys []dynamo.Item
	for _, c := range counters {
		for ; c.requested < max(c.leastPartials, schema.Partials(c.mostShards)); c.requested++ {
			pk := schema.SummaryKey(c.name, c.requested*schema.SourcesPerPartial)
			owner[pk] = c
			keys = append(keys, dynamo.Key(pk, schema.SoleSK))
		}
	}
	items, err := dynamo.BatchGet(ctx, s.client, s.rollups, keys, false)
	for _, it := range items {
		owner[dynamo.Text(it, schema.PK)].addPartial(it)
	}
	return err
}

// counter is what a call has read of one counter.
type counter struct {
	name          string
	shards        int       // the newest shard count
	singleUntil   time.Time // until then the counter had one write shard; zero if unknown
	mostShards    int       // the largest known number of write shards that the counter ever had
	requested     int       // the number of partial summaries that were requested
	leastPartials int       // the least number of partial summaries to read: 1 if write shard 0 is absent
	written       bool      // write shard 0 exists
	folded        time.Time // the time of the newest fold; zero without a partial summary
	value         *big.Int
	err           error // why the first unreadable item can't be read
}

// addFirstShard adds the item of write shard 0.
func (c *counter) addFirstShard(it dynamo.Item) {
	c.written = true
	c.addValue(it, "value")
	most, err := dynamo.LargestOfSet(it, schema.CounterMaxShards)
	c.keepError(it, err)
	c.mostShards = max(c.mostShards, most)
}

// addPartial adds a partial summary.
func (c *counter) addPartial(it dynamo.Item) {
	for name := range it {
		if schema.IsValueAttr(name) {
			c.addValue(it, name)
		}
	}
	millis, err := dynamo.Integer(it, schema.AsOf)
	c.keepError(it, err)
	if at := time.UnixMilli(millis).UTC(); at.After(c.folded) {
		c.folded = at
	}
}

func (c *counter) addValue(it dynamo.Item, name string) {
	value, err := dynamo.BigInteger(it, name)
	if err != nil {
		c.keepError(it, err)
		return
	}
	c.value.Add(c.value, value)
}

// keepError sets the counter's error, if it has none yet, to an error of reading an item. A nil error changes nothing.
func (c *counter) keepError(it dynamo.Item, err error) {
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("%w: item %q: %w", ErrUnreadable, dynamo.Text(it, schema.PK), err)
	}
}

// summary returns the counter's Summary for a call at now. The caller may change its value.
func (c *counter) summary(now time.Time) Summary {
	s := Summary{Value: new(big.Int), AsOf: now, ReadAt: now, Shards: c.shards, Err: c.err}
	if c.err == nil {
		s.Value.Set(c.value)
	}
	asOf := c.folded
	if c.mostShards > 1 && c.singleUntil.After(asOf) {
		asOf = c.singleUntil
	}
	if !asOf.IsZero() {
		s.AsOf = asOf
	}
	return s
}
