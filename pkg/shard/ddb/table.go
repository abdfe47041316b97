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
// it must be set but for Format, First, Calculate and Now.
//
// Items keep the shape that they have without sharding: the partition key attribute
// holds the plain name, say "acme". Put adds the write shard on the way to DynamoDB,
// which stores "acme#7", and reads take it off again. Name and sort key together are
// an item's identity, as they are without sharding: let sort keys end in an id
// ([shard.Stamp.Key]). Where write shards are calculated from another attribute, items
// with equal sort keys are told apart by it, but DynamoDB keeps only one on a write
// shard, and a write that meets another there is refused with ErrMisused.
//
// All items under a name's write shards are the name's. So no name that is stored
// plainly in the same table may look like one of them: beside "acme" over ten write
// shards there can't be a plain "acme#3".
type Table struct {
	Client       TableClient
	Name         string
	PartitionKey string           // the attribute's name; its type is S
	SortKey      string           // the attribute's name; its type is S, N or B
	Format       shard.Format     // default [shard.Hash]
	Shards       Counts           // how many write shards a name has
	Layout       Layout           // which of them an item goes to
	Now          func() time.Time // default time.Now

	// First is the number of the first write shard, default 0: with 1 and Fixed(10) they
	// are acme#1 to acme#10. With 0 where they are counted from 1, or the other way round,
	// a read leaves out the items of a whole write shard, without an error.
	First int
	// Calculate gives the write shard, 0 to n-1, of a value among n, without First. It
	// never changes. Default [shard.Calculated]; [shard.Summed] is the Developer Guide's.
	Calculate func(value string, n int) int

	reads reading
}

// reading is which of the items in a name's partitions a range gives.
type reading int

const (
	eachOnce reading = iota // every item, once when writers did not agree where it goes
	placed                  // the same, but none that a look-up does not find where it is
	allThere                // everything that is there
)

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
	case t.First < 0:
		return fmt.Errorf("%w: table %s: First is %d: write shards have no negative numbers", ErrMisused, t.Name, t.First)
	case t.Layout == nil:
		return fmt.Errorf("%w: table %s: Layout is nil: say RandomSuffix{}, for one", ErrMisused, t.Name)
	}
	if err := firstError(t.format().Valid(), t.Layout.fault(t)); err != nil {
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

// join is the partition key of a write shard, counted from 0.
func (t *Table) join(base string, n int) string { return t.format().Join(base, t.First+n) }

// calculate panics when the caller's calculation breaks its rule, which is no fault of data.
func (t *Table) calculate(value string, n int) int {
	if t.Calculate == nil {
		return shard.Calculated(value, n)
	}
	at := t.Calculate(value, n)
	if at < 0 || at >= n {
		panic(fmt.Sprintf("ddb: Table.Calculate gives write shard %d of %d for %q", at, n, value))
	}
	return at
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
