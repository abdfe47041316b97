package limiter

import (
	"slices"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// table is what the limiter knows of a table.
type table struct {
	*partitions.Space
	key     keys
	indexes []*index
	global  []*partitions.Space // of the global indexes
}

type index struct {
	*partitions.Space        // the table's, for a local index
	name              string // of local ones too
	key               keys
	all               bool            // projects all attributes
	projects          map[string]bool // else these, keys included
}

// keys are the names of key attributes; sort may be "".
type keys struct{ hash, sort string }

// of returns an item's partition key and its whole key as texts. It is false
// for an item that lacks one, which is none for a table and not in an index.
func (k keys) of(it jsonitem.Item) (hash, whole string, ok bool) {
	hash, ok = it[k.hash].Text()
	if !ok || k.sort == "" {
		return hash, hash, ok
	}
	sort, ok := it[k.sort].Text()
	return hash, hash + "\x00" + sort, ok
}

func (k keys) has(name string) bool { return name == k.hash || name == k.sort && name != "" }

// cost is what a write that turns before into after (either may be nil, for no
// item) costs in the table and its indexes.
func (t *table) cost(at partitions.Place, before, after jsonitem.Item) []partitions.Charge {
	size := max(before.Size(), after.Size())
	charges := []partitions.Charge{at.Writes(blocks(size, writeBlock))}
	for _, x := range t.indexes {
		charges = append(charges, x.cost(before, after)...)
	}
	return charges
}

// cost is the index's part: a write for an entry that comes, goes or
// changes, and two for one whose key changes.
func (x *index) cost(before, after jsonitem.Item) []partitions.Charge {
	b, a := x.entry(before), x.entry(after)
	switch {
	case b == nil || a == nil || b.key != a.key:
		return x.entryCosts(before, after)
	case b.Item.Equal(a.Item):
		return nil
	}
	return []partitions.Charge{x.Place(a.hash).Writes(max(b.cost(), a.cost()))}
}

// entryCosts are a write each for the entry that goes and the one that comes,
// if they are two.
func (x *index) entryCosts(before, after jsonitem.Item) []partitions.Charge {
	var costs []partitions.Charge
	b, a := x.entry(before), x.entry(after)
	if b != nil && (a == nil || a.key != b.key) {
		costs = append(costs, x.Place(b.hash).Writes(b.cost()))
	}
	if a != nil {
		costs = append(costs, x.Place(a.hash).Writes(a.cost()))
	}
	return costs
}

// entry is an item as an index holds it.
type entry struct {
	jsonitem.Item
	hash, key string
}

// entry returns what the index holds of an item, nil for one that it leaves out.
func (x *index) entry(it jsonitem.Item) *entry {
	hash, whole, ok := x.key.of(it)
	if !ok {
		return nil
	}
	if x.all {
		return &entry{it, hash, whole}
	}
	projected := jsonitem.Item{}
	for name := range x.projects {
		if v, ok := it[name]; ok {
			projected[name] = v
		}
	}
	return &entry{projected, hash, whole}
}

func (e *entry) cost() partitions.Units { return blocks(e.Item.Size(), writeBlock) }

// indexKey tells whether an attribute is in the key of a global index.
func (t *table) indexKey(name string) bool {
	return slices.ContainsFunc(t.indexes, func(x *index) bool { return !x.local() && x.key.has(name) })
}

// globalHash tells whether an attribute is the partition key of a global index.
func (t *table) globalHash(name string) bool {
	return slices.ContainsFunc(t.indexes, func(x *index) bool { return !x.local() && x.key.hash == name })
}

func (x *index) local() bool { return x.Index == "" }

// description is the part of DescribeTable's answer that is read here.
type description struct {
	Table struct {
		TableName              string
		TableArn               string
		KeySchema              []keyElement
		BillingModeSummary     struct{ BillingMode string }
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
}

type keyElement struct{ AttributeName, KeyType string }

func newTable(gate *partitions.Gate, d description) *table {
	onDemand := d.Table.BillingModeSummary.BillingMode == "PAY_PER_REQUEST"
	t := &table{
		Space: gate.NewSpace(partitions.Resource{Table: d.Table.TableName, ARN: d.Table.TableArn, OnDemand: onDemand}),
		key:   newKeys(d.Table.KeySchema),
	}
	for _, x := range d.Table.LocalSecondaryIndexes {
		t.indexes = append(t.indexes, newIndex(t.Space, t.key, x))
	}
	for _, x := range d.Table.GlobalSecondaryIndexes {
		own := gate.NewSpace(partitions.Resource{Table: d.Table.TableName, Index: x.IndexName, ARN: x.IndexArn, OnDemand: onDemand})
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
