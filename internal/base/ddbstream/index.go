package ddbstream

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

// NewIndex returns an index. Partition, sort and table are the key attributes of the index and of the table. Include has the
// projected attributes that are not keys; nil stands for the projection ALL.
func NewIndex(name string, partition, sort, table, include []string) Index {
	x := Index{Name: name, Partition: partition, Sort: sort}
	if include != nil {
		x.Projected = slices.Concat(table, partition, sort, include)
		slices.Sort(x.Projected)
		x.Projected = slices.Compact(x.Projected)
	}
	return x
}

// DescribeIndex returns an index by its key schema and its projection, and by the key schema of its table, as DescribeTable
// returns them.
func DescribeIndex(name string, table, keys []types.KeySchemaElement, projection *types.Projection) Index {
	include := []string{}
	if projection != nil {
		include = append(include, projection.NonKeyAttributes...)
		if projection.ProjectionType == types.ProjectionTypeAll {
			include = nil
		}
	}
	partition, sort := KeyNames(keys)
	return NewIndex(name, partition, sort, slices.Concat(KeyNames(table)), include)
}

// KeyNames returns the attributes of a key schema's partition key and sort key, each in order.
func KeyNames(schema []types.KeySchemaElement) (partition, sort []string) {
	for _, k := range schema {
		if k.KeyType == types.KeyTypeHash {
			partition = append(partition, aws.ToString(k.AttributeName))
		} else {
			sort = append(sort, aws.ToString(k.AttributeName))
		}
	}
	return partition, sort
}
