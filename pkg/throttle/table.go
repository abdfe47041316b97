package throttle

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// table has a table's keys, indexes and partitions.
type table struct {
	*partitions.Space
	database      string          // as [call.database] returns it
	arns          map[string]bool // ARNs by which requests have named the table; guarded by Limiter.mu
	key           keys
	indexes       []*index
	globalIndexes []*partitions.Space // the partitions of each global index
}

type index struct {
	*partitions.Space        // the table's, for a local index
	name              string // also of a local index, whose Space.Index is ""
	rule              ddbstream.Index
}

// keys are the names of key attributes; sort is "" if there is none.
type keys struct{ hash, sort string }

// primaryKey returns the text of an item's partition key and sort key, or false if the item lacks one of them.
func (k keys) primaryKey(it dynamo.Item) (string, bool) {
	hash, ok := keyText(it[k.hash])
	if !ok || k.sort == "" {
		return hash, ok
	}
	sort, ok := keyText(it[k.sort])
	return hash + "\x00" + sort, ok
}

// cost returns a write's charges by the item before and after, nil for no item: the table's charge, then the indexes'.
func (t *table) cost(place partitions.Place, before, after dynamo.Item) []partitions.Charge {
	size := max(dynamo.Size(before), dynamo.Size(after))
	charges := []partitions.Charge{place.Writes(unitsFor(size, writeBlock))}
	for _, x := range t.indexes {
		charges = append(charges, x.cost(before, after)...)
	}
	return charges
}

func (x *index) cost(before, after dynamo.Item) (charges []partitions.Charge) {
	var writes ddbstream.IndexWrites
	_ = ddbstream.AddIndexWrites(&writes, &x.rule, image(before), image(after)) // image.SizeIn has no errors
	for _, w := range writes.List {
		charges = append(charges, x.Place(string(w.Key)).Writes(partitions.Units(w.Units)*partitions.Unit))
	}
	return charges
}

// inGlobalKey reports whether an attribute is in the key of a global index.
func (t *table) inGlobalKey(name string) bool {
	return slices.ContainsFunc(t.indexes, func(x *index) bool {
		return !x.isLocal() && (slices.Contains(x.rule.Partition, name) || slices.Contains(x.rule.Sort, name))
	})
}

// inGlobalPartitionKey reports whether an attribute is in the partition key of a global index.
func (t *table) inGlobalPartitionKey(name string) bool {
	return slices.ContainsFunc(t.indexes, func(x *index) bool { return !x.isLocal() && slices.Contains(x.rule.Partition, name) })
}

func (x *index) isLocal() bool { return x.Index == "" }

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

// throughput has the members of a table's or a global index's description that limit its throughput.
type throughput struct {
	ProvisionedThroughput struct{ ReadCapacityUnits, WriteCapacityUnits int }
	OnDemandThroughput    struct{ MaxReadRequestUnits, MaxWriteRequestUnits int } // 0 or less is no maximum
}

// limits returns the limits of a whole table or index: its provisioned throughput, or, if it is on demand, its maximum
// on-demand throughput, or else the account's quota.
func (t throughput) limits(options Options, onDemand bool) partitions.Throughput {
	limit := func(provisioned, maximum int) partitions.Limit {
		switch {
		case !onDemand:
			return partitions.Limit{Cause: partitions.Provisioned, PerSecond: min(max(0, provisioned), maxTableWCU), Burst: options.Burst}
		case maximum > 0:
			return partitions.Limit{Cause: partitions.MaxOnDemand, PerSecond: min(maximum, maxTableWCU)}
		}
		return partitions.Limit{Cause: partitions.Account, PerSecond: options.TableQuota}
	}
	return partitions.Throughput{
		Reads:  limit(t.ProvisionedThroughput.ReadCapacityUnits, t.OnDemandThroughput.MaxReadRequestUnits),
		Writes: limit(t.ProvisionedThroughput.WriteCapacityUnits, t.OnDemandThroughput.MaxWriteRequestUnits),
	}
}

// newTable returns a described table with one second's tokens. [Options.TableWCU] above 0 replaces its limit of writes.
func newTable(gate *partitions.Gate, options Options, database string, d description) *table {
	onDemand := d.Table.BillingModeSummary.BillingMode == "PAY_PER_REQUEST"
	if options.TableWCU > 0 {
		d.Table.ProvisionedThroughput.WriteCapacityUnits = options.TableWCU
		d.Table.OnDemandThroughput.MaxWriteRequestUnits = options.TableWCU
	}
	t := &table{
		Space: gate.NewSpace(partitions.Resource{Table: d.Table.TableName, ARN: d.Table.TableArn, OnDemand: onDemand}, d.Table.limits(options, onDemand)),
		key:   newKeys(d.Table.KeySchema),

		database: database, arns: map[string]bool{},
	}
	for _, x := range d.Table.LocalSecondaryIndexes {
		t.indexes = append(t.indexes, newIndex(t.Space, d.Table.KeySchema, x))
	}
	for _, x := range d.Table.GlobalSecondaryIndexes {
		space := gate.NewSpace(partitions.Resource{Table: d.Table.TableName, Index: x.IndexName, ARN: x.IndexArn, OnDemand: onDemand}, x.limits(options, onDemand))
		t.globalIndexes = append(t.globalIndexes, space)
		t.indexes = append(t.indexes, newIndex(space, d.Table.KeySchema, x))
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

// tableName returns the name of a table that is given by its name or its ARN. It returns any other text as it is.
func tableName(named string) string {
	if name, _, _, err := dynamo.TableName(named); err == nil {
		return name
	}
	return named
}

// tables are the cached tables by database and name.
type tables map[string]*table

const (
	maxTables = 256 // cached tables; a further one evicts another and its buckets
	maxARNs   = 64  // cached ARNs of a table: DynamoDB Local accepts ARNs of any account
)

// add caches a table. If maxTables are cached already, it first removes one of them, no matter which.
func (t tables) add(key string, added *table) {
	for other := range t {
		if len(t) >= maxTables {
			delete(t, other)
		}
	}
	t[key] = added
}

// spaces returns the partitions of a table and of its global indexes.
func (t *table) spaces() []*partitions.Space { return append(slices.Clone(t.globalIndexes), t.Space) }
