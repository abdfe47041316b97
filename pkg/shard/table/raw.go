package table

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/place"
)

// Raw is a Table by the places of its items, as a migrate.Migration needs it, which has an
// item at two of them. Other programs need none of it.
type Raw struct{ t *Table }

// Raw returns the table by places.
func (t *Table) Raw() Raw { return Raw{t} }

// Clock is the table's time.
func (r Raw) Clock() time.Time { return r.t.clock() }

// NameOf is an item's partition key without a write shard.
func (r Raw) NameOf(it Item) (string, error) { return r.t.nameOf(it) }

// Finds tells whether items are found again by what is in them.
func (r Raw) Finds() bool { return r.t.Layout.found() }

// Places is where an item goes, and after it where else it may be.
func (r Raw) Places(ctx context.Context, name string, it Item) ([]place.Place, error) {
	return r.t.Layout.places(ctx, r.t, name, it)
}

// Find returns the name and the places of a key's item, for an operation that errors name.
func (r Raw) Find(ctx context.Context, operation string, key Item) (name string, places []place.Place, err error) {
	return r.t.find(ctx, operation, key)
}

// TellsBy names the attribute that tells items with equal sort keys apart, "" for none.
func (r Raw) TellsBy() string { return r.t.Layout.tells(r.t) }

// Identity is what tells an item apart from others with its name and sort key.
func (r Raw) Identity(it Item) place.Identity { return r.t.identity(it) }

// Look reads places in turn, consistently, until one has the item, as stored; nil when none has.
func (r Raw) Look(ctx context.Context, places []place.Place, id place.Identity) (place.Place, Item, error) {
	return r.t.look(ctx, places, id)
}

// Target is the place of an item that is there, or else where it belongs.
func (r Raw) Target(ctx context.Context, places []place.Place, id place.Identity) (place.Place, error) {
	return r.t.target(ctx, places, id)
}

// RemoveAt deletes an item from a place; another item there stays.
func (r Raw) RemoveAt(ctx context.Context, at place.Place, id place.Identity) error {
	return r.t.removeAt(ctx, at, id)
}

// Key is a place's, as stored.
func (r Raw) Key(at place.Place) Item { return r.t.key(at) }

// Put is the write of an item to a place that no other item has.
func (r Raw) Put(it Item, at place.Place, id place.Identity) *types.Put { return r.t.put(it, at, id) }

// Deletion is the write that deletes an item from a place, and no other one.
func (r Raw) Deletion(at place.Place, id place.Identity) *types.Delete { return r.t.deletion(at, id) }

// Placed is the table whose ranges leave out what a look-up does not find where it is.
func (r Raw) Placed() *Table { return r.t.reading(placed) }

// Scan yields what is stored of a range, in order, with where it is: each item once, or, with
// everything, all that is there.
func (r Raw) Scan(ctx context.Context, name string, s Span, everything bool) iter.Seq2[Stored, error] {
	if everything {
		return r.t.reading(allThere).scan(ctx, name, s)
	}
	return r.t.scan(ctx, name, s)
}
