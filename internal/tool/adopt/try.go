package adopt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// triedCount is the shard count to which names grow in a trial: the first count to which a grow.Grower grows.
const triedCount = 24

// growthAt is a shard map in which every name grows from 1 write shard to triedCount at this time.
type growthAt time.Time

// Lookup returns the entry of a name.
func (g growthAt) Lookup(_ context.Context, key string, _ time.Time) (shardmap.Entry, error) {
	return shardmap.Entry{Key: key, Version: 1, Max: triedCount, History: shard.History{{At: time.Time(g), Count: triedCount}}}, nil
}

// tryLines tries the report's lines with the sampled items, on tables in memory. It returns an error unless:
//   - after a growth now, all items that are stored under plain names are found, and a put creates no second item
//   - after a growth at the items' first time, and after one at their last, all items are put, found and read in order
func (r *Report) tryLines(ctx context.Context, items []item, found foundTimes, options Options) error {
	stored := memoryTable{r.PartitionKey, r.SortKey, nil}
	for _, it := range items {
		stored.put(it)
	}
	growth := growthAt(options.Now.Add(shardmap.LeadTime))
	if err := r.tryGrowth(ctx, stored, items, growth, found, options); err != nil {
		return err
	}
	for _, at := range []time.Time{found.own.first, found.own.last} {
		if err := r.tryGrowth(ctx, memoryTable{r.PartitionKey, r.SortKey, nil}, items, growthAt(at), found, options); err != nil {
			return err
		}
	}
	return nil
}

// tableOfLines returns the table that the report's lines make, with this client and these shard counts.
func (r *Report) tableOfLines(db table.Client, counts table.Counts) *table.Table {
	return &table.Table{
		Client: db, Name: r.Table, PartitionKey: r.PartitionKey, SortKey: r.SortKey,
		Shards: counts, Layout: r.layout, Format: shard.Format(r.Format), PlainFirst: true,
	}
}

// tryGrowth puts, gets and queries the items with these shard counts. It returns the first error, or one that says how the
// results differ from the items.
func (r *Report) tryGrowth(ctx context.Context, db memoryTable, items []item, counts table.Counts, found foundTimes, options Options) error {
	tried := r.tableOfLines(&db, counts)
	names := map[string][]item{}
	for _, it := range items {
		name := keyText(it, r.PartitionKey)
		names[name] = append(names[name], it)
		if err := tried.Put(ctx, maps.Clone(it), options.Now); err != nil {
			return err
		}
		if _, err := tried.Get(ctx, r.keyOf(it, found), options.Now); err != nil {
			return err
		}
	}
	if len(db.items) != len(items) {
		return fmt.Errorf("after puts of %d items the table has %d items", len(items), len(db.items))
	}
	for name, list := range names {
		if err := r.tryRange(ctx, tried, name, list, options.Now); err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns the attributes of an item that Table.Get needs: the key, and the attribute with the item's own time.
func (r *Report) keyOf(it item, found foundTimes) item {
	key := item{r.PartitionKey: it[r.PartitionKey], r.SortKey: it[r.SortKey]}
	name, _, _ := strings.Cut(found.own.attr, ".") // it may be in a map
	for _, attr := range []string{name, found.own.attr} {
		if it[attr] != nil {
			key[attr] = it[attr]
		}
	}
	return key
}

// tryRange returns an error unless a query of a name returns these items in the order of their sort keys.
func (r *Report) tryRange(ctx context.Context, tried *table.Table, name string, items []item, now time.Time) error {
	slices.SortStableFunc(items, func(a, b item) int { return dynamo.CompareValues(a[r.SortKey], b[r.SortKey]) })
	returned := 0
	for it, err := range tried.Query(ctx, name, table.Span{}, now) {
		if err != nil {
			return err
		}
		if returned == len(items) {
			return fmt.Errorf("a query of %q returns more than %d items", name, returned)
		}
		if dynamo.CompareValues(it[r.SortKey], items[returned][r.SortKey]) != 0 {
			return fmt.Errorf("a query of %q returns the item with %s %q out of order", name, r.SortKey, keyText(it, r.SortKey))
		}
		returned++
	}
	if returned != len(items) {
		return fmt.Errorf("a query of %q returns %d of %d items", name, returned, len(items))
	}
	return nil
}

// memoryTable is a table in memory with the calls that a trial makes.
type memoryTable struct {
	partition, sort string // names of the key attributes
	items           []item
}

// find returns the index of the item with a key, or -1.
func (m *memoryTable) find(key item) int {
	return slices.IndexFunc(m.items, func(it item) bool {
		return dynamo.CompareValues(it[m.partition], key[m.partition]) == 0 && dynamo.CompareValues(it[m.sort], key[m.sort]) == 0
	})
}

func (m *memoryTable) put(it item) {
	if at := m.find(it); at >= 0 {
		m.items[at] = it
		return
	}
	m.items = append(m.items, it)
}

func (m *memoryTable) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	m.put(in.Item)
	return &dynamodb.PutItemOutput{}, nil
}

func (m *memoryTable) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out := &dynamodb.GetItemOutput{}
	if at := m.find(in.Key); at >= 0 {
		out.Item = maps.Clone(m.items[at])
	}
	return out, nil
}

// Query returns the items of partition :pk from :low to :high, in the order of their sort keys. Both bounds are optional.
func (m *memoryTable) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	low, high := in.ExpressionAttributeValues[":low"], in.ExpressionAttributeValues[":high"]
	for _, it := range m.items {
		inPartition := dynamo.CompareValues(it[m.partition], in.ExpressionAttributeValues[":pk"]) == 0
		beforeLow := low != nil && dynamo.CompareValues(it[m.sort], low) < 0
		afterHigh := high != nil && dynamo.CompareValues(it[m.sort], high) > 0
		if inPartition && !beforeLow && !afterHigh {
			out.Items = append(out.Items, maps.Clone(it))
		}
	}
	slices.SortFunc(out.Items, func(a, b map[string]types.AttributeValue) int { return dynamo.CompareValues(a[m.sort], b[m.sort]) })
	return out, nil
}

var errUntried = errors.New("a trial does not make this call")

func (m *memoryTable) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, errUntried
}

func (m *memoryTable) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return nil, errUntried
}
