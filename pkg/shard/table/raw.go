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

// raw is a Table during one call, addressed by the places of its items.
type raw struct {
	t      *Table
	counts Counts // the table's, or what current returns
	now    time.Time
	clock  dynamo.Clock
	call   observe.Call
}

// check returns an error if the table's fields are wrong or the call's time is zero.
func (r raw) check() error {
	if r.now.IsZero() {
		return dynamo.CheckNow(r.now)
	}
	return r.t.Check()
}

// raw returns the table during a call that began at now.
func (t *Table) raw(now time.Time) raw {
	return raw{t, t.Shards, now, dynamo.StartClock(now), observe.Begin(t.Observer)}
}

// time returns the call's start plus the time since.
func (r raw) time() time.Time { return r.clock.Now() }

// findable reports whether a look-up by an item's contents finds the item.
func (r raw) findable() bool { return r.t.Layout.findable() }

// tieBreaker returns the attribute that distinguishes items with equal sort keys, or "".
func (r raw) tieBreaker() string { return r.t.Layout.tieBreaker(r.t) }

// nameOf returns the name in an item's partition key attribute. It checks the name and that the item
// has a sort key.
func (r raw) nameOf(it Item) (string, error) {
	name, ok := it[r.t.PartitionKey].(*types.AttributeValueMemberS)
	if !ok {
		return "", fmt.Errorf("%w: table %s: the item's %s must be a string, the name without a write shard", shard.ErrMisused, r.t.Name, r.t.PartitionKey)
	}
	if err := observe.CheckNames(name.Value); err != nil {
		return "", fmt.Errorf("table %s: %w", r.t.Name, err)
	}
	if it[r.t.SortKey] == nil {
		return "", fmt.Errorf("%w: table %s: an item of %q has no %s", shard.ErrMisused, r.t.Name, name.Value, r.t.SortKey)
	}
	return name.Value, r.t.nameFault(name.Value)
}

// identity returns the attribute that distinguishes an item from others with its name and sort key.
func (r raw) identity(it Item) place.Identity {
	if by := r.tieBreaker(); by != "" {
		return place.Identity{By: by, Value: it[by]}
	}
	return place.Identity{}
}

func (r raw) lookup(ctx context.Context, key string) (shardmap.Entry, error) {
	entry, err := r.counts.Lookup(ctx, key, r.time())
	if err != nil {
		return shardmap.Entry{}, fmt.Errorf("looking up the shard count of %q: %w", key, err)
	}
	return entry, nil
}

// sent returns the attempt that observers receive of a write to write shard n. The key is a name;
// identity is "", or distinguishes the items if write shards are calculated.
func (r raw) sent(k schema.Kind, key string, e shardmap.Entry, n int, at time.Time, identity string) shard.Attempt {
	a := sent(k, r.t.Name, r.t.Shards, key, e, n, at, !r.findable())
	if identity != "" {
		a.Items = observe.Hash(identity)
	}
	if r.t.PlainFirst {
		a.Clear = func(ctx context.Context, from, to int) error {
			return r.t.clear(ctx, key, max(from, e.Most()), to, r.time()) // AtLeast may raise the count above the map's
		}
	}
	return a
}

// sent returns the attempt that observers receive of a write to write shard n of a table. A count that
// never changes is pinned. New items use the newest count at once.
func sent(k schema.Kind, table string, counts Counts, key string, e shardmap.Entry, n int, at time.Time, isNew bool) shard.Attempt {
	send := observe.Sent
	if isNew {
		send = observe.SentNew
	}
	a := send(k, cmp.Or(e.Key, key), e, n, at)
	_, fixed := constant(counts)
	a.Table, a.Pinned = table, a.Pinned || fixed
	return a
}

// notAhead returns an error if the shard count may still change before an item's time.
func (r raw) notAhead(at time.Time) error {
	if ahead := aheadOf(r.t.Shards); r.t.changing() && at.After(r.time().Add(ahead)) {
		return fmt.Errorf("%w: an item's time %s is more than %s after now, and its shard count may change before that time: put the item later", shard.ErrMisused, at, ahead)
	}
	return nil
}

// places returns the place where an item belongs, and then the places where it may also be.
func (r raw) places(ctx context.Context, name string, it Item) ([]place.Place, error) {
	if err := r.t.nameFault(name); err != nil {
		return nil, err
	}
	return r.t.Layout.places(ctx, r, name, it)
}

// find returns the name and the places of a key's item; operation is for its errors.
func (r raw) find(ctx context.Context, operation string, key Item) (name string, places []place.Place, err error) {
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
		err = fmt.Errorf("%w: a %s chooses write shards at random, so single items can't be looked up: query the range of the one sort key", shard.ErrMisused, kind)
	}
	if err != nil {
		return "", nil, r.t.describe(operation, name, err)
	}
	return name, places, nil
}

// locate reads places in turn, strongly consistent. It returns the first that has the item,
// and the item as stored, which is nil if no place has it.
func (r raw) locate(ctx context.Context, places []place.Place, id place.Identity) (place.Place, Item, error) {
	for _, p := range places {
		it, err := r.readAt(ctx, p)
		if err != nil || id.Matches(it) {
			return p, it, err
		}
	}
	return place.Place{}, nil, nil
}

// readAt returns the item at a place, strongly consistent; nil if there is none.
func (r raw) readAt(ctx context.Context, p place.Place) (it Item, err error) {
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

// target returns the place that has the item, or else the place where it belongs.
func (r raw) target(ctx context.Context, places []place.Place, id place.Identity) (place.Place, error) {
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
func (r raw) key(at place.Place) Item {
	return Item{r.t.PartitionKey: dynamo.String(at.PK), r.t.SortKey: at.Sort}
}

// put returns the write of an item under its stored key, on the condition that no other item is
// there.
func (r raw) put(it Item, at place.Place, id place.Identity) *types.Put {
	stored := maps.Clone(it)
	maps.Copy(stored, r.key(at))
	g := id.Unoccupied(r.t.PartitionKey)
	return &types.Put{
		TableName: &r.t.Name, Item: stored,
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// deletion returns the write that deletes an item from a place. It deletes no other item there.
func (r raw) deletion(at place.Place, id place.Identity) *types.Delete {
	g := id.Unoccupied(r.t.PartitionKey)
	return &types.Delete{
		TableName: &r.t.Name, Key: r.key(at),
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// removeAt deletes an item from a place; another item there stays.
func (r raw) removeAt(ctx context.Context, at place.Place, id place.Identity) error {
	in := dynamo.DeleteInput(r.deletion(at, id))
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
	place.ReadRange = func(ctx context.Context, t any, name string, of place.Range, now time.Time) (iter.Seq2[place.Stored, error], func() *place.Position) {
		return t.(*Table).raw(now).readRange(ctx, name, of)
	}
}

// readRange implements place.ReadRange.
func (r raw) readRange(ctx context.Context, name string, of place.Range) (items iter.Seq2[place.Stored, error], rest func() *place.Position) {
	g, err := r.gather(name, Span{Low: of.Low, High: of.High, Desc: of.Desc, Limit: of.Limit, Consistent: of.Consistent})
	if err != nil {
		return func(yield func(place.Stored, error) bool) { yield(place.Stored{}, err) }, nil
	}
	g.twice, g.most, g.drop = of.Twice, of.MaxQueries, of.Drop
	return g.all(ctx), func() *place.Position { return g.rest }
}
