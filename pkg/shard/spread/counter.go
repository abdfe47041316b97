package spread

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
)

// Counter waits for the duration watch, and returns the exact number of writes to each of a counter's write shards
// in that time. It compares the revs before and after, which every write raises by one. Write shards that were added in
// that time are Unknown, and the verdict is over the shard count at the beginning.
//
// Counter costs two strongly consistent reads of each write shard, and two of the shard map's item.
func (r *Reader) Counter(ctx context.Context, name string, watch time.Duration, now time.Time) (Result, error) {
	base := schema.BaseKey{Type: schema.Counter, Name: name}
	describe := func(err error) error { return fmt.Errorf("watching counter %q: %w", name, err) }
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(r.client, r.shards, name)); err != nil {
		return Result{}, describe(err)
	}
	entry, err := r.shards.Read(ctx, base.String())
	if err != nil {
		return Result{}, describe(err)
	}
	clock := dynamo.StartClock(now.UTC())
	from := clock.Now()
	before, err := r.revs(ctx, base, entry.Most())
	if err != nil {
		return Result{}, describe(err)
	}
	select {
	case <-ctx.Done():
		return Result{}, describe(ctx.Err())
	case <-time.After(watch):
	}
	to := clock.Now()
	later, err := r.shards.Read(ctx, base.String())
	if err != nil {
		return Result{}, describe(err)
	}
	after, err := r.revs(ctx, base, max(entry.Most(), later.Most()))
	if err != nil {
		return Result{}, describe(err)
	}
	before = append(before, make([]*big.Int, len(after)-len(before))...)
	counts, unknown := writesBetween(before, after, clock.Now().Sub(from))
	spread := spreadOver(counts, entry.History.Newest())
	spread.From, spread.To, spread.Unknown = from, to, unknown
	return spread, nil
}

// revs reads the revs of a counter's write shards 0 to shards-1; the rev of an absent write shard is nil.
func (r *Reader) revs(ctx context.Context, base schema.BaseKey, shards int) ([]*big.Int, error) {
	keys := make([]dynamo.Item, shards)
	index := make(map[string]int, shards)
	for n := range keys {
		keys[n] = dynamo.Key(schema.CounterKey(base.Name, n))
		index[dynamo.Text(keys[n], schema.PK)] = n
	}
	items, err := dynamo.BatchGet(ctx, r.client, r.table, keys, true)
	if err != nil {
		return nil, err
	}
	revs := make([]*big.Int, shards)
	for _, it := range items {
		n := index[dynamo.Text(it, schema.PK)]
		if revs[n], err = dynamo.BigInteger(it, "rev"); err != nil {
			return nil, fmt.Errorf("write shard %d: %w", n, err)
		}
	}
	return revs, nil
}

// mostWrites bounds the writes to one item in a second. A rev that rises by more belongs to an item that was deleted and
// created again, since a new rev starts at the clock's microseconds.
const mostWrites = 10_000

// writesBetween returns the number of writes to each write shard between two reads of its rev. For the write shards in
// unknown, which were created or created again between the reads, the number is 0.
func writesBetween(before, after []*big.Int, watched time.Duration) (counts []int64, unknown []int) {
	counts = make([]int64, len(after))
	most := int64((watched + time.Second).Seconds() * mostWrites)
	for n := range after {
		switch {
		case before[n] == nil && after[n] == nil:
			continue
		case before[n] != nil && after[n] != nil:
			rise := new(big.Int).Sub(after[n], before[n])
			if rise.Sign() >= 0 && rise.IsInt64() && rise.Int64() <= most {
				counts[n] = rise.Int64()
				continue
			}
		}
		unknown = append(unknown, n)
	}
	return counts, unknown
}
