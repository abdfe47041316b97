package table

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Item is a DynamoDB item: the SDK's attribute values by attribute name.
type Item = map[string]types.AttributeValue

// Client has the DynamoDB calls of a Table.
type Client interface {
	client.Putter
	client.Getter
	client.Updater
	client.Deleter
	client.Querier
}

// Table is a caller's own table whose items are spread over write shards. Client, Name, PartitionKey,
// SortKey, Shards and Layout are required.
//
// Items keep the shape that they have without sharding: the partition key attribute holds the plain name, say "acme".
// Put adds the write shard, so that DynamoDB stores "acme#7", and reads remove it again. Name and sort key together
// identify an item, as they do without sharding: let sort keys end in an id ([shard.Stamp.Key]). If write shards are
// calculated from another attribute, that attribute distinguishes items with equal sort keys. DynamoDB keeps only one
// of them on a write shard, and a write of another there returns ErrMisused.
//
// All items under a name's write shards belong to the name. So no plain name in the same table may look like one of
// them: beside "acme" over ten write shards there can't be a plain "acme#3".
type Table struct {
	Client       Client
	Name         string       // or ARN
	PartitionKey string       // the attribute's name; its type is S
	SortKey      string       // the attribute's name; its type is S, N or B
	Format       shard.Format // default [shard.Hash]
	Shards       Counts       // how many write shards a name has
	Layout       Layout       // which write shard an item goes to

	// Observer receives every attempt to write an item; may be nil. A grow.Grower raises the count of a name whose
	// writes are throttled. Deletes under a RandomSuffix are not observed: more write shards don't help them.
	Observer shard.Observer

	// PlainFirst makes write shard 0 the plain name itself: acme, acme#SHARD_1, acme#SHARD_2. So an existing table is
	// adopted as it is: a name's items stay where they are, and a read of the name is one query, until its count is
	// raised. PlainFirst needs an explicit Format and a First of 0, and does not go with HybridBuckets. Calls return
	// ErrMisused for a name that the Format reads as a write shard above 0, say acme#SHARD_1. They also do for a name
	// whose write shards' keys would exceed 2,048 bytes.
	//
	// Programs that only know the plain name miss the items on the other write shards. docs/adopt.md
	// says what must be true before the first growth.
	PlainFirst bool

	// First is the number of the first write shard, default 0: with a First of 1 and Fixed(10) the write shards are
	// acme#1 to acme#10. If First is wrong, reads miss the items of a whole write shard, without an error.
	First int
	// Calculate returns a value's write shard among n: 0 to n-1, without First. The function must never
	// change. Default [shard.Calculated]; [shard.Summed] is the Developer Guide's.
	Calculate func(value string, n int) int
}

// Check returns an error that wraps ErrMisused if the table's fields are wrong, or nil. Every
// call checks them; a program may call Check at its start.
func (t *Table) Check() error {
	_, _, _, nameErr := dynamo.TableName(t.Name)
	switch {
	case dynamo.CheckClient(t.Client) != nil:
		return fmt.Errorf("%w: Table.Client is nil: set a *dynamodb.Client, for example", shard.ErrMisused)
	case t.Name == "":
		return fmt.Errorf("%w: Table.Name is empty: set the name or ARN of your table", shard.ErrMisused)
	case nameErr != nil:
		return fmt.Errorf("%w: Table.Name: %w", shard.ErrMisused, nameErr)
	case t.PartitionKey == "", t.SortKey == "", t.PartitionKey == t.SortKey:
		return fmt.Errorf("%w: table %s: PartitionKey %q and SortKey %q must name two attributes", shard.ErrMisused, t.Name, t.PartitionKey, t.SortKey)
	case t.Shards == nil:
		return fmt.Errorf("%w: table %s: Shards is nil: set Fixed(10) or a shardmap.Map, for example", shard.ErrMisused, t.Name)
	case t.First < 0:
		return fmt.Errorf("%w: table %s: First is %d: want 0 or more", shard.ErrMisused, t.Name, t.First)
	case t.Layout == nil:
		return fmt.Errorf("%w: table %s: Layout is nil: set RandomSuffix{}, for example", shard.ErrMisused, t.Name)
	}
	err := cmp.Or(t.keyFormat().Valid(), countsFault(t.Shards), t.Layout.fault(t))
	if err == nil {
		err = t.plainFault()
	}
	if err != nil {
		return fmt.Errorf("%w: table %s: %w", shard.ErrMisused, t.Name, err)
	}
	return nil
}

// calculate returns a value's write shard among n, 0 to n-1. It panics if the caller's Calculate returns
// another number.
func (t *Table) calculate(value string, n int) int {
	if t.Calculate == nil {
		return shard.Calculated(value, n)
	}
	number := t.Calculate(value, n)
	if number < 0 || number >= n {
		panic(fmt.Sprintf("table: Table.Calculate(%q, %d) returned write shard %d: want 0 to %d", value, n, number, n-1))
	}
	return number
}

// describe adds the operation, the name and the table to an error.
func (t *Table) describe(operation, name string, err error) error {
	return fmt.Errorf("%s %q of table %s: %w", operation, name, t.Name, err)
}

// withCallerKeys changes a stored item's keys to the caller's, and returns the item.
func (t *Table) withCallerKeys(it Item, name string, key Item) Item {
	it[t.PartitionKey], it[t.SortKey] = dynamo.String(name), key[t.SortKey]
	return it
}
