package limiter

import "slices"

// table is what the limiter knows of a table.
type table struct {
	*space
	key     keys
	indexes []*index
	global  []*space // of the global indexes
}

type index struct {
	*space          // the table's, for a local index
	name     string // of local ones too
	key      keys
	all      bool            // projects all attributes
	projects map[string]bool // else these, keys included
}

// keys are the names of key attributes; sort may be "".
type keys struct{ hash, sort string }

// of returns an item's partition key and its whole key as texts. It is false
// for an item that lacks one, which is none for a table and not in an index.
func (k keys) of(it item) (hash, whole string, ok bool) {
	hash, ok = it[k.hash].text()
	if !ok || k.sort == "" {
		return hash, hash, ok
	}
	sort, ok := it[k.sort].text()
	return hash, hash + "\x00" + sort, ok
}

func (k keys) has(name string) bool { return name == k.hash || name == k.sort && name != "" }

// cost is what a write that turns before into after (either may be nil, for no
// item) costs in the table and its indexes.
func (l *Limiter) cost(t *table, hash string, before, after item) []charge {
	size := max(before.size(), after.size())
	charges := []charge{{l.place(t.space, hash), true, blocks(size, writeBlock)}}
	for _, x := range t.indexes {
		charges = append(charges, l.indexCost(x, before, after)...)
	}
	return charges
}

// indexCost is the index's part: a write for an entry that comes, goes or
// changes, and two for one whose key changes.
func (l *Limiter) indexCost(x *index, before, after item) []charge {
	b, a := x.entry(before), x.entry(after)
	switch {
	case b == nil || a == nil || b.key != a.key:
		return l.entryCosts(x, before, after)
	case b.equal(a.item):
		return nil
	}
	return []charge{{l.place(x.space, a.hash), true, max(b.cost(), a.cost())}}
}

// entryCosts are a write each for the entry that goes and the one that comes,
// if they are two.
func (l *Limiter) entryCosts(x *index, before, after item) []charge {
	var costs []charge
	b, a := x.entry(before), x.entry(after)
	if b != nil && (a == nil || a.key != b.key) {
		costs = append(costs, charge{l.place(x.space, b.hash), true, b.cost()})
	}
	if a != nil {
		costs = append(costs, charge{l.place(x.space, a.hash), true, a.cost()})
	}
	return costs
}

// entry is an item as an index holds it.
type entry struct {
	item
	hash, key string
}

// entry returns what the index holds of an item, nil for one that it leaves out.
func (x *index) entry(it item) *entry {
	hash, whole, ok := x.key.of(it)
	if !ok {
		return nil
	}
	if x.all {
		return &entry{it, hash, whole}
	}
	projected := item{}
	for name := range x.projects {
		if v, ok := it[name]; ok {
			projected[name] = v
		}
	}
	return &entry{projected, hash, whole}
}

func (e *entry) cost() units { return blocks(e.size(), writeBlock) }

// indexKey tells whether an attribute is in the key of a global index.
func (t *table) indexKey(name string) bool {
	return slices.ContainsFunc(t.indexes, func(x *index) bool { return !x.local() && x.key.has(name) })
}

func (x *index) local() bool { return x.indexName == "" }

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

func (l *Limiter) newTable(d description) *table {
	onDemand := d.Table.BillingModeSummary.BillingMode == "PAY_PER_REQUEST"
	t := &table{
		space: l.newSpace(space{tableName: d.Table.TableName, arn: d.Table.TableArn, onDemand: onDemand}),
		key:   newKeys(d.Table.KeySchema),
	}
	if l.options.TableWCU > 0 {
		t.limit = &bucket{l.tableRate.capacity, l.now()}
	}
	for _, x := range d.Table.LocalSecondaryIndexes {
		t.indexes = append(t.indexes, newIndex(t.space, t.key, x))
	}
	for _, x := range d.Table.GlobalSecondaryIndexes {
		own := l.newSpace(space{tableName: d.Table.TableName, indexName: x.IndexName, arn: x.IndexArn, onDemand: onDemand})
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

func newIndex(s *space, table keys, d indexDescription) *index {
	x := &index{space: s, name: d.IndexName, key: newKeys(d.KeySchema), all: d.Projection.ProjectionType == "ALL"}
	x.projects = map[string]bool{}
	for _, name := range append([]string{table.hash, table.sort, x.key.hash, x.key.sort}, d.Projection.NonKeyAttributes...) {
		x.projects[name] = name != ""
	}
	return x
}
