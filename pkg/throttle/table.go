package throttle

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// table is a table's keys, indexes and partitions.
type table struct {
	*partitions.Space
	database string          // as database returns it
	arns     map[string]bool // by which requests have named the table; guarded by Limiter.mu
	key      keys
	indexes  []*index
	global   []*partitions.Space // of global indexes
}

type index struct {
	*partitions.Space        // the table's, for a local index
	name              string // of a local index, too
	rule              ddbstream.Index
}

// keys are the names of key attributes; sort is "" if there is none.
type keys struct{ hash, sort string }

// text returns the texts of an item's partition key and whole key. ok is false if the item
// lacks a key attribute.
func (k keys) text(it dynamo.Item) (hash, whole string, ok bool) {
	hash, ok = keyText(it[k.hash])
	if !ok || k.sort == "" {
		return hash, hash, ok
	}
	sort, ok := keyText(it[k.sort])
	return hash, hash + "\x00" + sort, ok
}

// place returns the place of an item in a table or index with these keys.
func (k keys) place(s *partitions.Space, it dynamo.Item) partitions.Place {
	hash, _ := keyText(it[k.hash])
	return s.Place(hash)
}

// cost returns the cost of a write in the table and its indexes. A nil item does not exist.
func (t *table) cost(at partitions.Place, before, after dynamo.Item) []partitions.Charge {
	size := max(dynamo.Size(before), dynamo.Size(after))
	charges := []partitions.Charge{at.Writes(blocks(size, writeBlock))}
	for _, x := range t.indexes {
		charges = append(charges, x.cost(before, after)...)
	}
	return charges
}

func (x *index) cost(before, after dynamo.Item) (charges []partitions.Charge) {
	var writes ddbstream.IndexWrites
	_ = ddbstream.AddIndexWrites(&writes, &x.rule, image(before), image(after)) // each item has a size
	for _, w := range writes.List {
		charges = append(charges, x.Place(string(w.Key)).Writes(partitions.Units(w.Units)*partitions.Unit))
	}
	return charges
}

// inIndexKey reports whether an attribute is in the key of a global index.
func (t *table) inIndexKey(name string) bool {
	return t.inGlobalHash(name) || slices.ContainsFunc(t.indexes, func(x *index) bool { return !x.local() && slices.Contains(x.rule.Sort, name) })
}

// inGlobalHash reports whether an attribute is in the partition key of a global index.
func (t *table) inGlobalHash(name string) bool {
	return slices.ContainsFunc(t.indexes, func(x *index) bool { return !x.local() && slices.Contains(x.rule.Partition, name) })
}

func (x *index) local() bool { return x.Index == "" }

// description has the members of DescribeTable's response that the limiter reads.
type description struct {
	Table struct {
		TableName          string
		TableArn           string
		KeySchema          []types.KeySchemaElement
		BillingModeSummary struct{ BillingMode string }
		throughput
		GlobalSecondaryIndexes []indexDescription
		LocalSecondaryIndexes  []indexDescription
	}
}

type indexDescription struct {
	IndexName  string
	IndexArn   string
	KeySchema  []types.KeySchemaElement
	Projection *types.Projection
	throughput
}

// throughput is that of a table or of a global index.
type throughput struct {
	ProvisionedThroughput struct{ ReadCapacityUnits, WriteCapacityUnits int }
	OnDemandThroughput    struct{ MaxReadRequestUnits, MaxWriteRequestUnits int } // 0 or less is no maximum
}

// limits describes a table or index, with the limits of the whole. The account's quotas are for on-demand
// tables and indexes without a maximum.
func (t throughput) limits(o Options, onDemand bool) partitions.Throughput {
	limit := func(provisioned, maximum int) partitions.Limit {
		switch {
		case !onDemand:
			return partitions.Limit{Cause: partitions.Provisioned, PerSecond: min(max(0, provisioned), maxTableWCU), Burst: o.Burst}
		case maximum > 0:
			return partitions.Limit{Cause: partitions.MaxOnDemand, PerSecond: min(maximum, maxTableWCU)}
		}
		return partitions.Limit{Cause: partitions.Account, PerSecond: o.TableQuota}
	}
	return partitions.Throughput{
		Reads:  limit(t.ProvisionedThroughput.ReadCapacityUnits, t.OnDemandThroughput.MaxReadRequestUnits),
		Writes: limit(t.ProvisionedThroughput.WriteCapacityUnits, t.OnDemandThroughput.MaxWriteRequestUnits),
	}
}

func newTable(gate *partitions.Gate, o Options, database string, d description) *table {
	onDemand := d.Table.BillingModeSummary.BillingMode == "PAY_PER_REQUEST"
	if o.TableWCU > 0 {
		d.Table.ProvisionedThroughput.WriteCapacityUnits = o.TableWCU
		d.Table.OnDemandThroughput.MaxWriteRequestUnits = o.TableWCU
	}
	t := &table{
		Space: gate.NewSpace(partitions.Resource{Table: d.Table.TableName, ARN: d.Table.TableArn, OnDemand: onDemand}, d.Table.limits(o, onDemand)),
		key:   newKeys(d.Table.KeySchema),

		database: database, arns: map[string]bool{},
	}
	for _, x := range d.Table.LocalSecondaryIndexes {
		t.indexes = append(t.indexes, newIndex(t.Space, d.Table.KeySchema, x))
	}
	for _, x := range d.Table.GlobalSecondaryIndexes {
		own := gate.NewSpace(partitions.Resource{Table: d.Table.TableName, Index: x.IndexName, ARN: x.IndexArn, OnDemand: onDemand}, x.limits(o, onDemand))
		t.global = append(t.global, own)
		t.indexes = append(t.indexes, newIndex(own, d.Table.KeySchema, x))
	}
	return t
}

func newKeys(schema []types.KeySchemaElement) (k keys) {
	for _, e := range schema {
		if e.KeyType == types.KeyTypeHash {
			k.hash = aws.ToString(e.AttributeName)
		} else {
			k.sort = aws.ToString(e.AttributeName)
		}
	}
	return k
}

func newIndex(s *partitions.Space, table []types.KeySchemaElement, d indexDescription) *index {
	return &index{Space: s, name: d.IndexName, rule: ddbstream.DescribeIndex(d.IndexName, table, d.KeySchema, d.Projection)}
}
