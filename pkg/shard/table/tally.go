package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TallyClient has the DynamoDB calls of a Tally.
type TallyClient interface {
	client.Updater
	client.BatchGetter
}

// Tally is a sharded counter in a caller's own table: a number attribute of the items name#0 to
// name#N-1. Unlike a counters.Writer, a Tally needs none of hotshard's tables and has no summary: a
// sum costs one read unit per write shard.
//
// A sum reads all write shards that the name ever had according to Shards. So a Fixed count may be
// raised, in readers first; a lowered one loses what the other write shards have counted.
// Replacing a Fixed count with a [shardmap.Map] needs [AtLeast].
//
// AddAll adds to several attributes of an item in one write, for the price of one attribute: say the opens and clicks
// of a mail. Sums reads several attributes together.
//
// To count by the minute, use names that contain the minute: home#2026-01-05T12:04.
type Tally struct {
	Client       TallyClient
	Table        string
	PartitionKey string               // the attribute's name; its type is S
	SortKey      string               // the attribute's name; "" for a table without
	Sort         types.AttributeValue // the sort key of all its items; required with SortKey
	Value        string               // the number attribute of Add and Sum; AddAll and Sums don't use it
	Format       shard.Format         // default [shard.Hash]
	First        int                  // the number of the first write shard, as in a Table
	Shards       Counts               // how many write shards a name has
	Observer     shard.Observer       // receives every attempt to add, as in a Table; may be nil
	// PlainFirst makes write shard 0 the plain name's item, as in a Table, so that an existing counter is
	// adopted as it is. While the shard map can't be read, Add adds to the plain name, and sums fail.
	PlainFirst bool
}

// keys returns a Table with the Tally's partition keys. Only the methods of keys.go may be called.
func (c *Tally) keys() *Table {
	return &Table{Name: c.Table, Format: c.Format, First: c.First, Layout: RandomSuffix{}, PlainFirst: c.PlainFirst}
}

// check returns ErrMisused if the Tally, the time, an attribute or a name is invalid.
func (c *Tally) check(now time.Time, attributes []string, names ...string) error {
	switch {
	case now.IsZero():
		return dynamo.CheckNow(now)
	case dynamo.CheckClient(c.Client) != nil, c.Table == "", c.PartitionKey == "", c.Shards == nil, len(attributes) == 0, slices.Contains(attributes, ""):
		return fmt.Errorf("%w: a Tally needs Client, Table, PartitionKey, Shards, and Value or the call's attributes", shard.ErrMisused)
	case slices.Contains(attributes, c.PartitionKey), c.SortKey != "" && slices.Contains(attributes, c.SortKey):
		return fmt.Errorf("%w: a Tally of table %s can't count in an attribute of the primary key: use another attribute than %s", shard.ErrMisused, c.Table, strings.Join(attributes, ", "))
	case c.First < 0:
		return fmt.Errorf("%w: a Tally of table %s: First is %d: want 0 or more", shard.ErrMisused, c.Table, c.First)
	case (c.SortKey == "") != (c.Sort == nil):
		return fmt.Errorf("%w: a Tally of table %s needs both SortKey and Sort, or neither", shard.ErrMisused, c.Table)
	}
	keys := c.keys()
	if err := cmp.Or(keys.keyFormat().Valid(), countsFault(c.Shards), keys.plainFault(), observe.CheckNames(names...)); err != nil {
		return fmt.Errorf("%w: a Tally of table %s: %w", shard.ErrMisused, c.Table, err)
	}
	for _, name := range names {
		if err := keys.nameFault(name); err != nil {
			return err
		}
	}
	return nil
}

// Add adds delta, which may be negative, to a random write shard, and retries on another if that one is
// throttled. After a timeout or a 5xx of DynamoDB, Add returns ErrUnavailable, and the delta may count.
// After a lost connection Add makes one more attempt, so the delta may count twice.
func (c *Tally) Add(ctx context.Context, name string, delta int64, now time.Time) error {
	return c.AddAll(ctx, name, map[string]int64{c.Value: delta}, now)
}

// AddAll adds to several attributes of one write shard in one write, as Add does. The deltas are by the
// attribute's name, and Value has no effect.
func (c *Tally) AddAll(ctx context.Context, name string, deltas map[string]int64, now time.Time) error {
	if err := c.check(now, slices.Sorted(maps.Keys(deltas)), name); err != nil {
		return err
	}
	call, clock := observe.Begin(c.Observer), dynamo.StartClock(now)
	last := -1 // the write shard of the last attempt
	err := dynamo.PersistSum(ctx, func(ctx context.Context) error {
		w, err := c.newWrite(ctx, name, deltas, last, clock.Now())
		if err != nil {
			return err
		}
		last = w.Attempt.Shard
		_, err = c.Client.UpdateItem(ctx, dynamo.UpdateInput(w.Action.Update), dynamo.NoRetry)
		return call.Observe(ctx, w.Attempt, err)
	})
	if err != nil {
		return fmt.Errorf("adding to %q of table %s: %w", name, c.Table, err)
	}
	return nil
}

// AddAllTransact returns AddAll's write for a transaction of package once. Each call chooses a random write shard.
func (c *Tally) AddAllTransact(ctx context.Context, name string, deltas map[string]int64, now time.Time) (shardmap.Write, error) {
	if err := c.check(now, slices.Sorted(maps.Keys(deltas)), name); err != nil {
		return shardmap.Write{}, err
	}
	w, err := c.newWrite(ctx, name, deltas, -1, now)
	if err != nil {
		return shardmap.Write{}, fmt.Errorf("adding to %q of table %s: %w", name, c.Table, err)
	}
	return w, nil
}

// newWrite returns the write of deltas to a random write shard other than last; a last of -1 excludes none.
func (c *Tally) newWrite(ctx context.Context, name string, deltas map[string]int64, last int, now time.Time) (shardmap.Write, error) {
	var n int
	var attempt shard.Attempt
	entry, err := c.Shards.Lookup(ctx, name, now)
	switch {
	case err == nil:
		n = shard.Another(entry.CountOfNew(now), last)
		attempt = newAttempt(schema.OwnRandom, c.Table, c.Shards, name, entry, n, now, true)
	case c.PlainFirst && errors.Is(err, shard.ErrStale): // use write shard 0, which exists at any count
	default:
		return shardmap.Write{}, err
	}
	if c.PlainFirst {
		attempt.CheckUnused = func(ctx context.Context, from, to int) error {
			return c.checkShardsUnused(ctx, name, max(from, entry.Most()), to)
		}
	}
	return shardmap.Write{Action: types.TransactWriteItem{Update: c.update(name, n, deltas)}, Attempt: attempt}, nil
}

// update returns the update that adds deltas, by attribute, to write shard n of a name.
func (c *Tally) update(name string, n int, deltas map[string]int64) *types.Update {
	update := &types.Update{
		TableName: &c.Table, Key: c.key(name, n), ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: dynamo.Item{},
	}
	var terms []string
	for i, attribute := range slices.Sorted(maps.Keys(deltas)) {
		terms = append(terms, fmt.Sprintf("#a%d :d%d", i, i))
		update.ExpressionAttributeNames[fmt.Sprint("#a", i)] = attribute
		update.ExpressionAttributeValues[fmt.Sprint(":d", i)] = dynamo.Number(deltas[attribute])
	}
	update.UpdateExpression = aws.String("ADD " + strings.Join(terms, ", "))
	return update
}

// checkShardsUnused implements shard.Attempt.CheckUnused for a name.
func (c *Tally) checkShardsUnused(ctx context.Context, name string, from, to int) error {
	var keys []dynamo.Item
	for n := from; n < to; n++ {
		keys = append(keys, c.key(name, n))
	}
	items, err := dynamo.BatchGet(ctx, c.Client, c.Table, keys, true)
	if err != nil || len(items) == 0 {
		return err
	}
	return occupiedError(c.Table, dynamo.Text(items[0], c.PartitionKey))
}

// Sum returns the total of all write shards of the names, strongly consistent; nil after an error. Each write shard
// costs 1 RCU, as does each name's entry in a shard map. A name never counted is 0; a repeated name counts once.
func (c *Tally) Sum(ctx context.Context, names []string, now time.Time) (*big.Int, error) {
	sums, err := c.Sums(ctx, names, []string{c.Value}, now)
	return sums[c.Value], err
}

// Sums returns the totals by attribute, as Sum does for Value. Several attributes cost as much as one.
func (c *Tally) Sums(ctx context.Context, names, attributes []string, now time.Time) (map[string]*big.Int, error) {
	if err := c.check(now, attributes, names...); err != nil {
		return nil, err
	}
	keys, err := c.allKeys(ctx, slices.Compact(slices.Sorted(slices.Values(names))), now)
	if err != nil {
		return nil, err
	}
	items, err := dynamo.BatchGet(ctx, c.Client, c.Table, keys, true)
	if err != nil {
		return nil, fmt.Errorf("summing %q of table %s: %w", names, c.Table, err)
	}
	sums := map[string]*big.Int{}
	for _, attribute := range attributes {
		sums[attribute] = new(big.Int)
	}
	for _, it := range items {
		for attribute, sum := range sums {
			if it[attribute] == nil { // nothing was added to it on this write shard
				continue
			}
			value, err := dynamo.BigInteger(it, attribute)
			if err != nil {
				return nil, fmt.Errorf("summing %q of table %s: %w", names, c.Table, err)
			}
			sum.Add(sum, value)
		}
	}
	return sums, nil
}

// allKeys returns the keys of all write shards that the names ever had, by the counts in the map's table.
func (c *Tally) allKeys(ctx context.Context, names []string, now time.Time) ([]dynamo.Item, error) {
	counts, clock := uncached(c.Shards), dynamo.StartClock(now)
	keys := make([][]dynamo.Item, len(names)) // by name
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dynamo.MaxParallel)
	for i, name := range names {
		group.Go(func() error {
			entry, err := counts.Lookup(ctx, name, clock.Now())
			if err != nil {
				return fmt.Errorf("summing %q of table %s: %w", name, c.Table, err)
			}
			for n := range entry.Most() {
				keys[i] = append(keys[i], c.key(name, n))
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(keys...), err
}

// key returns the primary key of a name's write shard n.
func (c *Tally) key(name string, n int) dynamo.Item {
	key := dynamo.Item{c.PartitionKey: dynamo.String(c.keys().join(name, n))}
	if c.SortKey != "" {
		key[c.SortKey] = c.Sort
	}
	return key
}
