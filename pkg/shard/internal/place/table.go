package place

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Table is a table.Table during one call, addressed by the places of its items. A migrate.Migration
// has an item at two places.
type Table interface {
	Now() time.Time
	Findable() bool     // whether a look-up by an item's contents finds the item
	TieBreaker() string // the attribute that distinguishes items with equal sort keys, or ""
	NameOf(it dynamo.Item) (string, error)
	Identity(it dynamo.Item) Identity
	Places(ctx context.Context, name string, it dynamo.Item) ([]Place, error)
	Find(ctx context.Context, operation string, key dynamo.Item) (name string, places []Place, err error)
	Locate(ctx context.Context, places []Place, id Identity) (Place, dynamo.Item, error)
	Target(ctx context.Context, places []Place, id Identity) (Place, error)
	Key(at Place) dynamo.Item
	Put(it dynamo.Item, at Place, id Identity) *types.Put
	Deletion(at Place, id Identity) *types.Delete
	RemoveAt(ctx context.Context, at Place, id Identity) error
	Range(ctx context.Context, name string, of Range) (items iter.Seq2[Stored, error], rest func() *Position)
}

// Range selects items of a name.
type Range struct {
	Low, High  types.AttributeValue // both included
	Desc       bool                 // from high to low sort keys
	Limit      int                  // about how many items are read; 0 is all
	MaxQueries int                  // maximum of partitions to read; 0 is no maximum
	Consistent bool
	Twice      bool                      // an item on two write shards is yielded twice
	Drop       func(it dynamo.Item) bool // items to skip; may be nil
}

// OpenTable returns a *table.Table by places, for a call that began at now. Package table sets it.
var OpenTable func(t any, now time.Time) Table

// Stored is an item and where it was read.
type Stored struct {
	Item dynamo.Item // as callers see it
	At   Position
	PK   string
	Sort types.AttributeValue // as stored
}
