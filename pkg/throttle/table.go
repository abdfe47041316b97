package throttle

import (
	"slices"

	"github.com/hotshard/hotshard/internal/aws/jsonitem"
	"github.com/hotshard/hotshard/internal/aws/partitions"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// table is a table's keys, indexes and partitions.
type table struct {
	*partitions.Space
	key     keys
	indexes []*index
	global  []*partitions.Space // of global indexes
}

type index struct {
	*partitions.Space        // the table's, for a local index
	name              string // of a local index, too
	key               keys
	all               bool            // projects all attributes
	projects          map[string]bool // otherwise the projected attributes, keys included
}

// keys are the names of key attributes; sort is "" if there is none.
type keys struct{ hash, sort string }

// text returns the texts of an item's partition key and whole key. ok is false if the item
// lacks a key attribute, and so is not in the index.
func (k keys) text(it dynamo.Item) (hash, whole string, ok bool) {
	hash, ok = jsonitem.Text(it[k.hash])
	if !ok || k.sort == "" {
		return hash, hash, ok
	}
	sort, ok := jsonitem.Text(it[k.sort])
	return hash, hash + "\x00" + sort, ok
}

// place returns the place of an item in a table or index with these keys.
func (k keys) place(s *partitions.Space, it dynamo.Item) partitions.Place {
	hash, _ := jsonitem.Text(it[k.hash])
	return s.Item(hash, jsonitem.Order(it[k.sort]))
}

func (k keys) has(name string) bool { return name == k.hash || name == k.sort && name != "" }

// cost returns the cost of a write in the table and its indexes. A nil item does not exist.
func (t *table) cost(at partitions.Place, before, after dynamo.Item) []partitions.Charge {
	size := max(dynamo.Size(before), dynamo.Size(after))
	charges := []partitions.Charge{at.Writes(blocks(size, writeBlock))}
	for _, x := range t.indexes {
		charges = append(charges, x.cost(before, after)...)
	}
	return charges
}

// cost returns the cost in the index: one write if an entry is added, removed or changed, and
// two if its key changes.
func (x *index) cost(before, after dynamo.Item) []partitions.Charge {
	b, a := x.entry(before), x.entry(after)
	switch {
	case b == nil || a == nil || b.key != a.key:
		return x.entryCosts(before, after)
	case jsonitem.Equal(b.item, a.item):
		return nil
	}
	return []partitions.Charge{a.at.Writes(max(b.cost(), a.cost()))}
}

// entryCosts returns the writes that remove one entry and add another.
func (x *index) entryCosts(before, after dynamo.Item) []partitions.Charge {
	var costs []partitions.Charge
	b, a := x.entry(before), x.entry(after)
	if b != nil && (a == nil || a.key != b.key) {
		costs = append(costs, b.at.Writes(b.cost()))
	}
	if a != nil {
		costs = append(costs, a.at.Writes(a.cost()))
	}
	return costs
}

// entry is an item in an index.
type entry struct {
	item dynamo.Item
	at   partitions.Place
	key  string
}

// entry returns the item's entry in the index, or nil if the item is not in it.
func (x *index) entry(it dynamo.Item) *entry {
	_, whole, ok := x.key.text(it)
	if !ok {
		return nil
	}
	at := x.key.place(x.Space, it)
	if x.all {
		return &entry{it, at, whole}
	}
	projected := dynamo.Item{}
	for name := range x.projects {
		if v, ok := it[name]; ok {
			projected[name] = v
		}
	}
	return &entry{projected, at, whole}
}

func (e *entry) cost() partitions.Units { return blocks(dynamo.Size(e.item), writeBlock) }

// indexKey reports whether an attribute is in the key of a global index.
func (t *table) indexKey(name string) bool {
	return slices.ContainsFunc(t.indexes, func(x *index) bool { return !x.local() && x.key.has(name) })
}

// globalHash reports whether an attribute is the partition key of a global index.
func (t *table) globalHash(name string) bool {
	return slices.ContainsFunc(t.indexes, func(x *index) bool { return !x.local() && x.key.hash == name })
}

func (x *index) local() bool { return x.Index == "" }

// description has the members of DescribeTable's response that the limiter reads.
type description struct {
	Table struct {
		TableName          string
		TableArn           string
		KeySchema          []keyElement
		BillingModeSummary struct{ BillingMode string }
		throughput
		GlobalSecondaryIndexes []indexDescription
		LocalSecondaryIndexes  []indexDescription
	}
}

type indexDescription struct {
	IndexName  string
	IndexArn   string
	KeySchema  []keyElement
	Projection struct {
		ProjectionType   string
		NonKeyAttributes []string
	}
	throughput
}

// throughput is that of a table or of a global index.
type throughput struct {
	ProvisionedThroughput struct{ ReadCapacityUnits, WriteCapacityUnits int }
	OnDemandThroughput    struct{ MaxReadRequestUnits, MaxWriteRequestUnits int } // 0 or less is no maximum
	WarmThroughput        warmThroughput
}

type warmThroughput struct{ ReadUnitsPerSecond, WriteUnitsPerSecond int }

// setWarm sets the warm throughput of the table or of a global index.
func (d *description) setWarm(index string, warm warmThroughput) {
	if index == "" {
		d.Table.WarmThroughput = warm
	}
	for i := range d.Table.GlobalSecondaryIndexes {
		if x := &d.Table.GlobalSecondaryIndexes[i]; x.IndexName == index {
			x.WarmThroughput = warm
		}
	}
}

// limits describes a table or index, with the limits of the whole. The account's quotas are for on-demand
// tables and indexes without a maximum. There are partitions for provisioned and for warm throughput.
func (t throughput) limits(o Options, onDemand bool) partitions.Throughput {
	limit := func(provisioned, maximum int) partitions.Limit {
		switch {
		case !onDemand:
			return partitions.Limit{Cause: partitions.Provisioned, PerSecond: min(provisioned, maxTableWCU), Burst: o.Burst}
		case maximum > 0:
			return partitions.Limit{Cause: partitions.MaxOnDemand, PerSecond: min(maximum, maxTableWCU)}
		}
		return partitions.Limit{Cause: partitions.Account, PerSecond: o.TableQuota}
	}
	return partitions.Throughput{
		Reads:  limit(t.ProvisionedThroughput.ReadCapacityUnits, t.OnDemandThroughput.MaxReadRequestUnits),
		Writes: limit(t.ProvisionedThroughput.WriteCapacityUnits, t.OnDemandThroughput.MaxWriteRequestUnits),

		WarmReads:  max(t.ProvisionedThroughput.ReadCapacityUnits, t.WarmThroughput.ReadUnitsPerSecond),
		WarmWrites: max(t.ProvisionedThroughput.WriteCapacityUnits, t.WarmThroughput.WriteUnitsPerSecond),
		OnDemand:   onDemand,
	}
}

type keyElement struct{ AttributeName, KeyType string }

func newTable(gate *partitions.Gate, o Options, d description) *table {
	onDemand := d.Table.BillingModeSummary.BillingMode == "PAY_PER_REQUEST"
	if o.TableWCU > 0 {
		d.Table.ProvisionedThroughput.WriteCapacityUnits = o.TableWCU
		d.Table.OnDemandThroughput.MaxWriteRequestUnits = o.TableWCU
	}
	limits := d.Table.limits(o, onDemand)
	limits.Together = len(d.Table.LocalSecondaryIndexes) > 0
	t := &table{
		Space: gate.NewSpace(partitions.Resource{Table: d.Table.TableName, ARN: d.Table.TableArn}, limits),
		key:   newKeys(d.Table.KeySchema),
	}
	for _, x := range d.Table.LocalSecondaryIndexes {
		t.indexes = append(t.indexes, newIndex(t.Space, t.key, x))
	}
	for _, x := range d.Table.GlobalSecondaryIndexes {
		own := gate.NewSpace(partitions.Resource{Table: d.Table.TableName, Index: x.IndexName, ARN: x.IndexArn}, x.limits(o, onDemand))
		t.global = append(t.global, own)
		t.indexes = append(t.indexes, newIndex(own, t.key, x))
	}
	return t
}

func newKeys(elements []keyElement) keys {
	var k keys
	for _, e := range elements {
		if e.KeyType == "HASH" {
			k.hash = e.AttributeName
		} else {
			k.sort = e.AttributeName
		}
	}
	return k
}

func newIndex(s *partitions.Space, table keys, d indexDescription) *index {
	x := &index{Space: s, name: d.IndexName, key: newKeys(d.KeySchema), all: d.Projection.ProjectionType == "ALL"}
	x.projects = map[string]bool{}
	for _, name := range append([]string{table.hash, table.sort, x.key.hash, x.key.sort}, d.Projection.NonKeyAttributes...) {
		x.projects[name] = name != ""
	}
	return x
}
