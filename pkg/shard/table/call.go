package table

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// tableCall is a Table during one call.
type tableCall struct {
	t      *Table
	counts Counts       // the table's, or uncached ones
	start  time.Time    // when the call began; zero if the caller passed no time
	clock  dynamo.Clock // runs from start
	call   observe.Call
}

// check returns an error if the table's fields are wrong or the call's time is zero.
func (r tableCall) check() error {
	if r.start.IsZero() {
		return dynamo.CheckNow(r.start)
	}
	return r.t.Check()
}

// startCall returns the table during a call that began at now.
func (t *Table) startCall(now time.Time) tableCall {
	return tableCall{t, t.Shards, now, dynamo.StartClock(now), observe.Begin(t.Observer)}
}

// now returns the current time by the clock of the call, which began at start.
func (r tableCall) now() time.Time { return r.clock.Now() }

// findable reports whether a look-up by an item's contents finds the item.
func (r tableCall) findable() bool { return r.t.Layout.findable() }

// tieBreaker returns the attribute that distinguishes items with equal sort keys, or "".
func (r tableCall) tieBreaker() string { return r.t.Layout.tieBreaker(r.t) }

// nameOf returns the name in an item's partition key attribute. It returns ErrMisused if the name is not allowed, or the
// item has no sort key.
func (r tableCall) nameOf(it Item) (string, error) {
	name, ok := it[r.t.PartitionKey].(*types.AttributeValueMemberS)
	if !ok {
		return "", fmt.Errorf("%w: table %s: the item's %s must be a string, the name without a write shard", shard.ErrMisused, r.t.Name, r.t.PartitionKey)
	}
	if err := observe.CheckNames(name.Value); err != nil {
		return "", fmt.Errorf("table %s: %w", r.t.Name, err)
	}
	if it[r.t.SortKey] == nil {
		return "", fmt.Errorf("%w: table %s: an item of %q has no sort key %s", shard.ErrMisused, r.t.Name, name.Value, r.t.SortKey)
	}
	return name.Value, r.t.nameFault(name.Value)
}

// identity returns the attribute that distinguishes an item from others with its name and sort key.
func (r tableCall) identity(it Item) place.Identity {
	if by := r.tieBreaker(); by != "" {
		return place.Identity{By: by, Value: it[by]}
	}
	return place.Identity{}
}

// lookup returns the counts of a key, which is what Layout.countKey returns.
func (r tableCall) lookup(ctx context.Context, key string) (shardmap.Entry, error) {
	entry, err := r.counts.Lookup(ctx, key, r.now())
	if err != nil {
		return shardmap.Entry{}, fmt.Errorf("looking up the shard count of %q: %w", key, err)
	}
	return entry, nil
}

// attempt returns the attempt that observers receive of a write of an item of time at to write shard n. The key is a name,
// or HybridBuckets.Group. The identity distinguishes the items of a name; "" leaves them undistinguished.
func (r tableCall) attempt(k schema.Kind, key string, e shardmap.Entry, n int, at time.Time, identity string) shard.Attempt {
	a := newAttempt(k, r.t.Name, r.t.Shards, key, e, n, at, !r.findable())
	if identity != "" {
		a.Items = observe.Hash(identity)
	}
	if r.t.PlainFirst {
		a.Clear = func(ctx context.Context, from, to int) error {
			return r.t.checkShardsUnused(ctx, key, max(from, e.Most()), to, r.now()) // AtLeast may raise the count above the map's
		}
	}
	return a
}

// newAttempt returns the attempt that observers receive of a write of an item of time at to write shard n of a table. A
// count that never changes is reported as pinned. isNew means that no other process can name the item yet.
func newAttempt(k schema.Kind, table string, counts Counts, key string, e shardmap.Entry, n int, at time.Time, isNew bool) shard.Attempt {
	sent := observe.Sent
	if isNew {
		sent = observe.SentNew
	}
	a := sent(k, cmp.Or(e.Key, key), e, n, at)
	_, fixed := constantCount(counts)
	a.Table, a.Pinned = table, a.Pinned || fixed
	return a
}

// checkNotAhead returns ErrMisused if an item's time is so far ahead that the shard count may still change before it.
func (r tableCall) checkNotAhead(at time.Time) error {
	if ahead := maxAhead(r.t.Shards); r.t.mayChangeCounts() && at.After(r.now().Add(ahead)) {
		return fmt.Errorf("%w: an item's time %s is more than %s after now, and the shard count may change before that time: put the item later", shard.ErrMisused, at, ahead)
	}
	return nil
}

// places returns the place where an item belongs, and then the places where it may also be.
func (r tableCall) places(ctx context.Context, name string, it Item) ([]place.Place, error) {
	if err := r.t.nameFault(name); err != nil {
		return nil, err
	}
	return r.t.Layout.places(ctx, r, name, it)
}

// findPlaces returns the name and the places of a key's item. Its errors begin with the operation. It returns ErrMisused if
// the layout can't find single items.
func (r tableCall) findPlaces(ctx context.Context, operation string, key Item) (name string, places []place.Place, err error) {
	if err := r.check(); err != nil {
		return "", nil, err
	}
	if name, err = r.nameOf(key); err != nil {
		return "", nil, err
	}
	if r.findable() {
		places, err = r.places(ctx, name, key)
	} else {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", r.t.Layout), "table.")
		err = fmt.Errorf("%w: %s chooses write shards at random, so single items can't be looked up: use Query with the sort key as Span.Low and Span.High", shard.ErrMisused, kind)
	}
	if err != nil {
		return "", nil, r.t.describe(operation, name, err)
	}
	return name, places, nil
}

// locate returns the first place that has the item, and the item as stored, which is nil if no place has it. The reads
// are strongly consistent.
func (r tableCall) locate(ctx context.Context, places []place.Place, id place.Identity) (place.Place, Item, error) {
	for _, p := range places {
		it, err := r.readAt(ctx, p)
		if err != nil || id.Matches(it) {
			return p, it, err
		}
	}
	return place.Place{}, nil, nil
}

// readAt returns the item at a place, strongly consistent; nil if there is none.
func (r tableCall) readAt(ctx context.Context, p place.Place) (it Item, err error) {
	consistent := true
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		out, err := r.t.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &r.t.Name, Key: r.key(p), ConsistentRead: &consistent}, dynamo.NoRetry)
		if err == nil {
			it = out.Item
		}
		return err
	})
	return it, err
}

// updatePlace returns the place that has the item, or else the place where it belongs.
func (r tableCall) updatePlace(ctx context.Context, places []place.Place, id place.Identity) (place.Place, error) {
	if len(places) == 1 {
		return places[0], nil
	}
	at, it, err := r.locate(ctx, places, id)
	if err != nil || it != nil {
		return at, err
	}
	return places[0], nil
}

// key returns the primary key under which the item is stored.
func (r tableCall) key(at place.Place) Item {
	return Item{r.t.PartitionKey: dynamo.String(at.PK), r.t.SortKey: at.Sort}
}

// putAction returns the put of an item at a place, on the condition that no other item is there.
func (r tableCall) putAction(it Item, at place.Place, id place.Identity) *types.Put {
	stored := maps.Clone(it)
	maps.Copy(stored, r.key(at))
	g := id.Unoccupied(r.t.PartitionKey)
	return &types.Put{
		TableName: &r.t.Name, Item: stored,
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// deleteAction returns the delete of an item from a place, on the condition that no other item is there.
func (r tableCall) deleteAction(at place.Place, id place.Identity) *types.Delete {
	g := id.Unoccupied(r.t.PartitionKey)
	return &types.Delete{
		TableName: &r.t.Name, Key: r.key(at),
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// removeAt deletes an item from a place; another item there stays.
func (r tableCall) removeAt(ctx context.Context, at place.Place, id place.Identity) error {
	in := dynamo.DeleteInput(r.deleteAction(at, id))
	err := dynamo.Persist(ctx, func(ctx context.Context) error {
		_, err := r.t.Client.DeleteItem(ctx, in, dynamo.NoRetry)
		return r.call.Observe(ctx, at.Sent, err)
	})
	if _, another := dynamo.ConditionFailed(err); another {
		return nil
	}
	return err
}

func init() {
	place.ReadRange = func(ctx context.Context, t any, name string, want place.Range, now time.Time) (iter.Seq2[place.Stored, error], func() *place.Position) {
		return t.(*Table).startCall(now).readRange(ctx, name, want)
	}
}

// readRange implements place.ReadRange.
func (r tableCall) readRange(ctx context.Context, name string, want place.Range) (items iter.Seq2[place.Stored, error], rest func() *place.Position) {
	g, err := r.gather(name, Span{Low: want.Low, High: want.High, Desc: want.Desc, Limit: want.Limit, Consistent: want.Consistent})
	if err != nil {
		return func(yield func(place.Stored, error) bool) { yield(place.Stored{}, err) }, nil
	}
	g.keepCopies, g.maxPartitions, g.drop = want.KeepCopies, want.MaxQueries, want.Drop
	return g.all(ctx), func() *place.Position { return g.rest }
}
