package heat

import (
	"errors"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// CountedTable is the table whose stream is counted.
type CountedTable struct {
	Table        string
	PartitionKey string // its attribute; of type S, N or B
	SortKey      string // "" for none
	Unnamed      bool   // whether the settings don't name the table. A record's only key is then its partition key, too.

	// Indexes are the table's indexes. A local index has no name, since its writes are on the table's own partitions.
	Indexes []ddbstream.Index

	// Replicas are the other Regions of a global table. Their writes are in this stream too, and a stream shard then
	// allows only one reader.
	Replicas []string

	// Own is set for one of hotshard's tables. Then keys are parsed, and shard counts follow the load. For any other table
	// it is "", and the detector only reports and advises.
	Own schema.StreamTable
}

// OwnTable returns one of hotshard's tables, with its name in a deployment and its indexes.
func OwnTable(names schema.Names, own schema.StreamTable) CountedTable {
	source := CountedTable{Table: names.Table(own), PartitionKey: schema.PK, SortKey: schema.SK, Own: own}
	for _, t := range schema.Tables(names) {
		if t.Name != source.Table {
			continue
		}
		for _, x := range t.Indexes {
			source.Indexes = append(source.Indexes, ddbstream.NewIndex(
				x.Name, []string{x.PartitionKey}, []string{x.SortKey}, []string{schema.PK, schema.SK}, x.Include,
			))
		}
	}
	return source
}

// ParseTable returns the table of a description, as DescribeTable returns it. A table without an enabled stream or without
// a partition key is an error.
func ParseTable(table *types.TableDescription) (s CountedTable, err error) {
	if table == nil || table.StreamSpecification == nil || !aws.ToBool(table.StreamSpecification.StreamEnabled) {
		return s, errors.New("the table has no stream: enable one with the view type NEW_AND_OLD_IMAGES")
	}
	s.Table = aws.ToString(table.TableName)
	for _, k := range table.KeySchema {
		if k.KeyType == types.KeyTypeHash {
			s.PartitionKey = aws.ToString(k.AttributeName)
		} else {
			s.SortKey = aws.ToString(k.AttributeName)
		}
	}
	if s.PartitionKey == "" {
		return s, errors.New("the description of the table has no partition key")
	}
	for _, x := range table.GlobalSecondaryIndexes {
		s.Indexes = append(s.Indexes, ddbstream.DescribeIndex(aws.ToString(x.IndexName), table.KeySchema, x.KeySchema, x.Projection))
	}
	for _, x := range table.LocalSecondaryIndexes {
		s.Indexes = append(s.Indexes, ddbstream.DescribeIndex("", table.KeySchema, x.KeySchema, x.Projection))
	}
	for _, r := range table.Replicas {
		s.Replicas = append(s.Replicas, aws.ToString(r.RegionName))
	}
	return s, nil
}

// Warn logs a warning if the table is a global table.
func (s CountedTable) Warn(log *slog.Logger) {
	if len(s.Replicas) > 0 {
		log.Warn("this is a global table: writes of other Regions are counted here as well, and nothing else may read its stream", "table", s.Table, "replicas", s.Replicas)
	}
}
