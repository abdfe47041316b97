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

// tableCall is one call of a Table's method.
type tableCall struct {
	t      *Table
	counts Counts       // the table's Shards, or uncached(Shards)
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

// startCall returns a call that begins at now.
func (t *Table) startCall(now time.Time) tableCall {
	return tableCall{t, t.Shards, now, dynamo.StartClock(now), observe.Begin(t.Observer)}
}

// now returns the call's start plus the time that has passed since.
func (r tableCall) now() time.Time { return r.clock.Now() }

// findable reports whether an item's write shard follows from the item, so that a look-up finds it.
func (r tableCall) findable() bool { return r.t.Layout.findable() }

// tieBreaker returns the attribute that distinguishes items with equal sort keys, or "".
func (r tableCall) tieBreaker() string { return r.t.Layout.tieBreaker(r.t) }

// nameOf returns the name in an item's partition key attribute. It returns ErrMisused if the name is not allowed, or the
// item has no sort key.
func (r tableCall) nameOf(it Item) (string, error) {
	name, ok := it[r.t.PartitionKey].(*types.AttributeValueMemberS)
	if !ok {
		return "", fmt.Errorf("%w: table %s: the item's %s must be a string: the plain name, without a write shard's suffix", shard.ErrMisused, r.t.Name, r.t.PartitionKey)
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

// lookup returns the counts of a key, which Layout.countKey has returned.
func (r tableCall) lookup(ctx context.Context, key string) (shardmap.Entry, error) {
	entry, err := r.counts.Lookup(ctx, key, r.now())
	if err != nil {
		return shardmap.Entry{}, fmt.Errorf("looking up the shard count of %q: %w", key, err)
	}
	return entry, nil
}

// attempt returns the attempt that observers receive of a write of an item of time at. The key is a name, or
// HybridBuckets.Group. The identity distinguishes the items of a name; "" leaves them undistinguished.
func (r tableCall) attempt(kind schema.Kind, key string, entry shardmap.Entry, writeShard int, at time.Time, identity string) shard.Attempt {
	a := newAttempt(kind, r.t.Name, r.t.Shards, key, entry, writeShard, at, !r.findable())
	if identity != "" {
		a.Items = observe.Hash(identity)
	}
	if r.t.PlainFirst {
		a.CheckUnused = func(ctx context.Context, from, to int) error {
			return r.t.checkShardsUnused(ctx, key, max(from, entry.Most()), to, r.now()) // AtLeast may raise the count above the map's
		}
	}
	return a
}

// newAttempt returns the attempt that observers receive of a write of an item of time at to a table's write shard. isNew
// means that no other process can name the item yet. A count that never changes is reported as pinned.
func newAttempt(kind schema.Kind, table string, counts Counts, key string, entry shardmap.Entry, writeShard int, at time.Time, isNew bool) shard.Attempt {
	observedAttempt := observe.NewAttempt
	if isNew {
		observedAttempt = observe.NewItemAttempt
	}
	a := observedAttempt(kind, cmp.Or(entry.Key, key), entry, writeShard, at)
	_, fixed := constantCount(counts)
	a.Table, a.Pinned = table, a.Pinned || fixed
	return a
}

// checkNotAhead returns ErrMisused if an item's time is so far ahead that the shard count may still change before that time.
func (r tableCall) checkNotAhead(at time.Time) error {
	if ahead := maxAhead(r.t.Shards); r.t.mayChangeCounts() && at.After(r.now().Add(ahead)) {
		return fmt.Errorf("%w: an item's time %s is more than %s after now, and the shard count may change before that time: put the item later", shard.ErrMisused, at, ahead)
	}
	return nil
}

// places returns the place where an item belongs, and then the places where the item may also be. It returns ErrMisused
// if PlainFirst does not allow the name.
func (r tableCall) places(ctx context.Context, name string, it Item) ([]place.Place, error) {
	if err := r.t.nameFault(name); err != nil {
		return nil, err
	}
	return r.t.Layout.places(ctx, r, name, it)
}

// findPlaces returns the name and the places of a key's item. It returns ErrMisused if the layout can't find
// single items. Errors begin with the operation, such as "deleting an item of".
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

// updatePlace returns the place that has the item, or the place where the item belongs if it does not exist.
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

// putAction returns the put of an item at a place, on condition that no other item is at the place.
func (r tableCall) putAction(it Item, at place.Place, id place.Identity) *types.Put {
	stored := maps.Clone(it)
	maps.Copy(stored, r.key(at))
	g := id.Unoccupied(r.t.PartitionKey)
	return &types.Put{
		TableName: &r.t.Name, Item: stored,
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// deleteAction returns the delete of an item from a place, on condition that no other item is at the place.
func (r tableCall) deleteAction(at place.Place, id place.Identity) *types.Delete {
	g := id.Unoccupied(r.t.PartitionKey)
	return &types.Delete{
		TableName: &r.t.Name, Key: r.key(at),
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// removeAt deletes an item from a place. If another item is at the place, it deletes nothing, and returns no error.
func (r tableCall) removeAt(ctx context.Context, at place.Place, id place.Identity) error {
	in := dynamo.DeleteInput(r.deleteAction(at, id))
	err := dynamo.Persist(ctx, func(ctx context.Context) error {
		_, err := r.t.Client.DeleteItem(ctx, in, dynamo.NoRetry)
		return r.call.Observe(ctx, at.Attempt, err)
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

// readRange implements place.ReadRange for the call's table.
func (r tableCall) readRange(ctx context.Context, name string, want place.Range) (items iter.Seq2[place.Stored, error], rest func() *place.Position) {
	g, err := r.gather(name, Span{Low: want.Low, High: want.High, Desc: want.Desc, Limit: want.Limit, Consistent: want.Consistent})
	if err != nil {
		return func(yield func(place.Stored, error) bool) { yield(place.Stored{}, err) }, nil
	}
	g.keepCopies, g.maxPartitions, g.drop = want.KeepCopies, want.MaxQueries, want.Drop
	return g.all(ctx), func() *place.Position { return g.rest }
}
