package ddb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Item is an item of DynamoDB, as the SDK has it.
type Item = map[string]types.AttributeValue

// ErrMisused means that a Table or a Migration is not set up for what was asked of
// it, or that an item or a range does not fit it. Nothing was written.
var ErrMisused = errors.New("misused")

// TableClient is what a Table calls of DynamoDB.
type TableClient interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Table is a caller's own table whose items are spread over write shards. All of
// it must be set but for Format and Now.
//
// Items keep the shape that they have without sharding: the partition key attribute
// holds the plain name, say "acme". Put adds the write shard on the way to DynamoDB,
// which stores "acme#7", and reads take it off again. Name and sort key together are
// an item's identity, as they are without sharding.
type Table struct {
	Client       TableClient
	Name         string
	PartitionKey string           // the attribute's name; its type is S
	SortKey      string           // the attribute's name; its type is S, N or B
	Format       shard.Format     // default [shard.Hash]
	Shards       Counts           // how many write shards a name has
	Layout       Layout           // which of them an item goes to
	Now          func() time.Time // default time.Now

	only bool // reads leave out items that the layout would not look for where they are
}

// Counts says how many write shards a name has: [Fixed], or a [Map], which many
// programs share and a [MapChanger] changes.
type Counts interface {
	// Lookup returns the counts of a key as a function of time. For a Table it is
	// the name in the partition key; see [Namespace].
	Lookup(ctx context.Context, key string, now time.Time) (Entry, error)
}

// Fixed is a shard count that is the same for all names and never changes. It must
// be 1 to [shard.MaxShards].
type Fixed int

// Lookup returns the fixed count.
func (n Fixed) Lookup(context.Context, string, time.Time) (Entry, error) {
	if n < 1 || n > shard.MaxShards {
		return Entry{}, fmt.Errorf("%w: a shard count of %d is not 1 to %d", ErrMisused, n, shard.MaxShards)
	}
	return Entry{History: shard.History{{Count: int(n)}}, Max: int(n)}, nil
}

// Namespace puts a prefix before names to make their keys in a shard map, so that
// several tables share one: Namespace{"orders/", shards}. Tables that share a map
// with hotshard's functions need one.
type Namespace struct {
	Prefix string
	Counts Counts
}

// Lookup asks for the key with the prefix.
func (n Namespace) Lookup(ctx context.Context, key string, now time.Time) (Entry, error) {
	return n.Counts.Lookup(ctx, n.Prefix+key, now)
}

// fault is what is wrong with the table itself, nil for nothing.
func (t *Table) fault() error {
	switch {
	case t.Client == nil:
		return fmt.Errorf("%w: Table.Client is nil", ErrMisused)
	case t.Name == "":
		return fmt.Errorf("%w: Table.Name is empty", ErrMisused)
	case t.PartitionKey == "", t.SortKey == "", t.PartitionKey == t.SortKey:
		return fmt.Errorf("%w: table %s: PartitionKey %q and SortKey %q must name two attributes", ErrMisused, t.Name, t.PartitionKey, t.SortKey)
	case t.Shards == nil:
		return fmt.Errorf("%w: table %s: Shards is nil: say Fixed(10), or give a Map", ErrMisused, t.Name)
	case t.Layout == nil:
		return fmt.Errorf("%w: table %s: Layout is nil: say RandomSuffix{}, for one", ErrMisused, t.Name)
	}
	if err := t.Layout.fault(t); err != nil {
		return fmt.Errorf("%w: table %s: %w", ErrMisused, t.Name, err)
	}
	return nil
}

func (t *Table) format() shard.Format {
	if t.Format == "" {
		return shard.Hash
	}
	return t.Format
}

func (t *Table) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

func (t *Table) lookup(ctx context.Context, key string) (Entry, error) {
	entry, err := t.Shards.Lookup(ctx, key, t.now())
	if err != nil {
		return Entry{}, fmt.Errorf("looking up the shard count of %q: %w", key, err)
	}
	return entry, nil
}

// name is an item's partition key without a write shard.
func (t *Table) name(it Item) (string, error) {
	name, ok := it[t.PartitionKey].(*types.AttributeValueMemberS)
	if !ok {
		return "", fmt.Errorf("%w: table %s: the item's %s is no text: it must hold the name, without a write shard", ErrMisused, t.Name, t.PartitionKey)
	}
	if it[t.SortKey] == nil {
		return "", fmt.Errorf("%w: table %s: an item of %q has no %s", ErrMisused, t.Name, name.Value, t.SortKey)
	}
	return name.Value, nil
}

// place is where an item is, or may be.
type place struct {
	pk   string
	sort types.AttributeValue
}

func (t *Table) key(p place) Item {
	return Item{t.PartitionKey: &types.AttributeValueMemberS{Value: p.pk}, t.SortKey: p.sort}
}

// describe says which operation failed, on what.
func (t *Table) describe(operation, pk string, err error) error {
	return fmt.Errorf("%s %q of table %s: %w", operation, pk, t.Name, err)
}
