// Package secondary calculates what a write to a table costs in the table's secondary indexes. The stream's decoder and
// the limiter use it:
//
//	var writes secondary.Writes
//	err := secondary.Add(&writes, &index, before, after)
//	for _, w := range writes.List {
//		fmt.Printf("%d write units of %s in %s\n", w.Units, w.Key, w.Index)
//	}
package secondary

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Index describes a global or local secondary index: the settings that determine what writes to it cost.
type Index struct {
	Name      string   // "" for a local index, whose writes are on the table's own partitions
	Partition []string // attributes of the partition key, in order; DynamoDB allows 4
	Sort      []string // attributes of the sort key, in order; DynamoDB allows 4
	Projected []string // all projected attributes, keys included; nil if the projection is ALL
}

// New returns an index. Table has the table's key attributes. Include has the projected attributes that are not keys; nil
// is the projection ALL.
func New(name string, partition, sort, table, include []string) Index {
	x := Index{Name: name, Partition: partition, Sort: sort}
	if include != nil {
		x.Projected = slices.Concat(table, partition, sort, include)
		slices.Sort(x.Projected)
		x.Projected = slices.Compact(x.Projected)
	}
	return x
}

// Describe returns an index by its description from DescribeTable. Table is the key schema of the table.
func Describe(name string, table, keys []types.KeySchemaElement, projection *types.Projection) Index {
	include := []string{}
	if projection != nil {
		include = append(include, projection.NonKeyAttributes...)
		if projection.ProjectionType == types.ProjectionTypeAll {
			include = nil
		}
	}
	partition, sort := Keys(keys)
	return New(name, partition, sort, slices.Concat(Keys(table)), include)
}

// Keys returns the attributes of a key schema's partition key and sort key, each in order.
func Keys(schema []types.KeySchemaElement) (partition, sort []string) {
	for _, k := range schema {
		if k.KeyType == types.KeyTypeHash {
			partition = append(partition, aws.ToString(k.AttributeName))
		} else {
			sort = append(sort, aws.ToString(k.AttributeName))
		}
	}
	return partition, sort
}
