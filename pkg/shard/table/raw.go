package table

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Raw is a Table in one call, by the places of its items. A Table's own calls are made of it, and
// those of a migrate.Migration, which has an item at two places. Other programs need none of it.
type Raw struct {
	t     *Table
	clock dynamo.Clock
}

// Raw returns the table by places, for a call of the time now.
func (t *Table) Raw(now time.Time) Raw { return Raw{t, dynamo.StartClock(now)} }

// Now is the call's time, later by what it has taken.
func (r Raw) Now() time.Time { return r.clock.Now() }

// Finds tells whether items are found again by what is in them.
func (r Raw) Finds() bool { return r.t.Layout.found() }

// TellsBy names the attribute that tells items with equal sort keys apart, "" for none.
func (r Raw) TellsBy() string { return r.t.Layout.tells(r.t) }

// NameOf is an item's partition key without a write shard.
func (r Raw) NameOf(it Item) (string, error) {
	name, ok := it[r.t.PartitionKey].(*types.AttributeValueMemberS)
	if !ok {
		return "", fmt.Errorf("%w: table %s: the item's %s is no text: it must hold the name, without a write shard", shard.ErrMisused, r.t.Name, r.t.PartitionKey)
	}
	if it[r.t.SortKey] == nil {
		return "", fmt.Errorf("%w: table %s: an item of %q has no %s", shard.ErrMisused, r.t.Name, name.Value, r.t.SortKey)
	}
	return name.Value, nil
}

// Identity is what tells an item apart from others with its name and sort key.
func (r Raw) Identity(it Item) place.Identity {
	if by := r.TellsBy(); by != "" {
		return place.Identity{by: it[by]}
	}
	return nil
}

func (r Raw) lookup(ctx context.Context, key string) (shardmap.Entry, error) {
	entry, err := r.t.Shards.Lookup(ctx, key, r.Now())
	if err != nil {
		return shardmap.Entry{}, fmt.Errorf("looking up the shard count of %q: %w", key, err)
	}
	return entry, nil
}

// notAhead refuses an item's time for which the shard count may change yet.
func (r Raw) notAhead(at time.Time) error {
	if ahead := aheadOf(r.t.Shards); r.t.changing() && at.After(r.Now().Add(ahead)) {
		return fmt.Errorf("%w: an item's time %s is over %s ahead, and its shard count may change before", shard.ErrMisused, at, ahead)
	}
	return nil
}

// Places is where an item goes, and after it where else it may be.
func (r Raw) Places(ctx context.Context, name string, it Item) ([]place.Place, error) {
	return r.t.Layout.places(ctx, r, name, it)
}

// Find returns the name and the places of a key's item, for an operation that errors name.
func (r Raw) Find(ctx context.Context, operation string, key Item) (name string, places []place.Place, err error) {
	if err := r.t.Check(); err != nil {
		return "", nil, err
	}
	if name, err = r.NameOf(key); err != nil {
		return "", nil, err
	}
	if r.Finds() {
		places, err = r.Places(ctx, name, key)
	} else {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", r.t.Layout), "table.")
		err = fmt.Errorf("%w: items whose write shards a %s draws by chance can't be found singly: read the range of the one sort key", shard.ErrMisused, kind)
	}
	if err != nil {
		return "", nil, r.t.describe(operation, name, err)
	}
	return name, places, nil
}

// Look reads places in turn, consistently, until one has the item, as stored; nil when none has.
func (r Raw) Look(ctx context.Context, places []place.Place, id place.Identity) (place.Place, Item, error) {
	for _, p := range places {
		it, err := r.readAt(ctx, p)
		if err != nil || id.Matches(it) {
			return p, it, err
		}
	}
	return place.Place{}, nil, nil
}

// readAt returns what is at a place, consistently, nil for nothing.
func (r Raw) readAt(ctx context.Context, p place.Place) (it Item, err error) {
	consistent := true
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		out, err := r.t.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &r.t.Name, Key: r.Key(p), ConsistentRead: &consistent}, dynamo.NoRetry)
		if err == nil {
			it = out.Item
		}
		return err
	})
	return it, err
}

// Target is the place of an item that is there, or else where it belongs.
func (r Raw) Target(ctx context.Context, places []place.Place, id place.Identity) (place.Place, error) {
	if len(places) == 1 {
		return places[0], nil
	}
	at, it, err := r.Look(ctx, places, id)
	if err != nil || it != nil {
		return at, err
	}
	return places[0], nil
}

// Key is a place's, as stored.
func (r Raw) Key(at place.Place) Item {
	return Item{r.t.PartitionKey: dynamo.String(at.PK), r.t.SortKey: at.Sort}
}

// Put is the write of an item, with the keys that DynamoDB has, to a place that no other
// item has.
func (r Raw) Put(it Item, at place.Place, id place.Identity) *types.Put {
	stored := maps.Clone(it)
	maps.Copy(stored, r.Key(at))
	g := id.Free(r.t.PartitionKey)
	return &types.Put{
		TableName: &r.t.Name, Item: stored,
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// Deletion is the write that deletes an item from a place, and no other one.
func (r Raw) Deletion(at place.Place, id place.Identity) *types.Delete {
	g := id.Free(r.t.PartitionKey)
	return &types.Delete{
		TableName: &r.t.Name, Key: r.Key(at),
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// RemoveAt deletes an item from a place; another item there stays.
func (r Raw) RemoveAt(ctx context.Context, at place.Place, id place.Identity) error {
	in := dynamo.DeleteInput(r.Deletion(at, id))
	err := dynamo.Persist(ctx, func(ctx context.Context) error {
		_, err := r.t.Client.DeleteItem(ctx, in, dynamo.NoRetry)
		return err
	})
	if _, another := dynamo.ConditionFailed(err); another {
		return nil
	}
	return err
}

// Scan yields what is stored of a range, in order, with where it is: each item once.
func (r Raw) Scan(ctx context.Context, name string, s Span) iter.Seq2[Stored, error] {
	g, err := r.gather(name, s)
	if err != nil {
		return func(yield func(Stored, error) bool) { yield(Stored{}, err) }
	}
	return g.all(ctx)
}

// Everything is the table whose Scan has all that is there, also what is twice or no look-up finds.
func (r Raw) Everything() Raw { return Raw{r.t.reading(allThere), r.clock} }

// Placed is the table whose ranges leave out what a look-up does not find where it is.
func (r Raw) Placed() *Table { return r.t.reading(placed) }
