package table

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Item is an item of DynamoDB, as the SDK has it.
type Item = map[string]types.AttributeValue

// Client is what a Table calls of DynamoDB.
type Client interface {
	dynamo.Putter
	dynamo.Getter
	dynamo.Updater
	dynamo.Deleter
	dynamo.Querier
}

// Table is a caller's own table whose items are spread over write shards. All of
// it must be set but for Format, First and Calculate.
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
	Client       Client
	Name         string
	PartitionKey string       // the attribute's name; its type is S
	SortKey      string       // the attribute's name; its type is S, N or B
	Format       shard.Format // default [shard.Hash]
	Shards       Counts       // how many write shards a name has
	Layout       Layout       // which of them an item goes to

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

// Check reports what is wrong with the table itself, as an ErrMisused; nil for nothing. Every
// call checks; a program may do so at its start.
func (t *Table) Check() error {
	switch {
	case t.Client == nil:
		return fmt.Errorf("%w: Table.Client is nil", shard.ErrMisused)
	case t.Name == "":
		return fmt.Errorf("%w: Table.Name is empty", shard.ErrMisused)
	case t.PartitionKey == "", t.SortKey == "", t.PartitionKey == t.SortKey:
		return fmt.Errorf("%w: table %s: PartitionKey %q and SortKey %q must name two attributes", shard.ErrMisused, t.Name, t.PartitionKey, t.SortKey)
	case t.Shards == nil:
		return fmt.Errorf("%w: table %s: Shards is nil: say Fixed(10), or give a Map", shard.ErrMisused, t.Name)
	case t.First < 0:
		return fmt.Errorf("%w: table %s: First is %d: write shards have no negative numbers", shard.ErrMisused, t.Name, t.First)
	case t.Layout == nil:
		return fmt.Errorf("%w: table %s: Layout is nil: say RandomSuffix{}, for one", shard.ErrMisused, t.Name)
	}
	if err := cmp.Or(t.keyFormat().Valid(), t.Layout.fault(t)); err != nil {
		return fmt.Errorf("%w: table %s: %w", shard.ErrMisused, t.Name, err)
	}
	return nil
}

func (t *Table) keyFormat() shard.Format {
	return cmp.Or(t.Format, shard.Hash)
}

// join is the partition key of a write shard, counted from 0.
func (t *Table) join(base string, n int) string { return t.keyFormat().Join(base, t.First+n) }

// calculate panics when the caller's calculation breaks its rule, which is no fault of data.
func (t *Table) calculate(value string, n int) int {
	if t.Calculate == nil {
		return shard.Calculated(value, n)
	}
	at := t.Calculate(value, n)
	if at < 0 || at >= n {
		panic(fmt.Sprintf("table: Table.Calculate gives write shard %d of %d for %q", at, n, value))
	}
	return at
}

// describe says which operation failed, on what.
func (t *Table) describe(operation, pk string, err error) error {
	return fmt.Errorf("%s %q of table %s: %w", operation, pk, t.Name, err)
}

// seen gives a stored item the keys that callers know.
func (t *Table) seen(it Item, name string, key Item) Item {
	it[t.PartitionKey], it[t.SortKey] = dynamo.String(name), key[t.SortKey]
	return it
}

// reading is the table with its ranges read another way.
func (t *Table) reading(r reading) *Table {
	other := *t
	other.reads = r
	return &other
}
