package count

import (
	"errors"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Source is the table whose stream is counted.
type Source struct {
	Table        string
	PartitionKey string // its attribute; of type S, N or B
	SortKey      string // "" for none

	// Indexes are the table's indexes. A local index has no name, since its writes are on the table's own partitions.
	Indexes []ddbstream.Index

	// Uncounted are the indexes whose writes are not counted: global ones with a key of
	// several attributes, which DynamoDB allows since November 2025, and vector indexes.
	Uncounted []string

	// Replicas are the other Regions of a global table. Their writes are in this stream too, and a stream shard then
	// takes one reader.
	Replicas []string

	// Own is the hotshard table that it is: its keys are parsed, and shard counts follow its load. It is "" for any
	// other table, which only gets a report with advice.
	Own kind.Table
}

// OwnSource returns the source of one of hotshard's tables.
func OwnSource(names schema.Names, own kind.Table) Source {
	source := Source{Table: names.Table(own), PartitionKey: schema.PK, SortKey: schema.SK, Own: own}
	for _, t := range schema.Tables(names) {
		if t.Name != source.Table {
			continue
		}
		for _, x := range t.Indexes {
			source.Indexes = append(source.Indexes, ddbstream.Index{
				Name: x.Name, PartitionKey: x.PartitionKey, SortKey: x.SortKey, All: x.Include == nil, Include: x.Include,
			})
		}
	}
	return source
}

// Describe returns the source for a table's description, or an error if the table has no stream.
func Describe(table *types.TableDescription) (s Source, err error) {
	if table == nil || table.StreamSpecification == nil || !aws.ToBool(table.StreamSpecification.StreamEnabled) {
		return s, errors.New("it has no stream")
	}
	s.Table = aws.ToString(table.TableName)
	if s.PartitionKey, s.SortKey = keyNames(table.KeySchema); s.PartitionKey == "" {
		return s, errors.New("its description has no partition key")
	}
	for _, x := range table.GlobalSecondaryIndexes {
		if len(x.KeySchema) > 2 || len(x.KeySchema) == 2 && x.KeySchema[0].KeyType == x.KeySchema[1].KeyType {
			s.Uncounted = append(s.Uncounted, aws.ToString(x.IndexName))
			continue
		}
		s.Indexes = append(s.Indexes, indexOf(aws.ToString(x.IndexName), x.KeySchema, x.Projection))
	}
	for _, x := range table.VectorIndexes {
		s.Uncounted = append(s.Uncounted, aws.ToString(x.IndexName))
	}
	for _, r := range table.Replicas {
		s.Replicas = append(s.Replicas, aws.ToString(r.RegionName))
	}
	for _, x := range table.LocalSecondaryIndexes {
		s.Indexes = append(s.Indexes, indexOf("", x.KeySchema, x.Projection))
	}
	return s, nil
}

// Warn logs which writes are not counted, or only in part.
func (s Source) Warn(log *slog.Logger) {
	if len(s.Uncounted) > 0 {
		log.Warn("writes to vector indexes and to indexes with keys of several attributes are not counted", "table", s.Table, "indexes", s.Uncounted)
	}
	if len(s.Replicas) > 0 {
		log.Warn("this is a global table: writes of other Regions are counted here as well, and nothing else may read its stream", "table", s.Table, "replicas", s.Replicas)
	}
}

func keyNames(keys []types.KeySchemaElement) (partition, sort string) {
	for _, k := range keys {
		if k.KeyType == types.KeyTypeHash {
			partition = aws.ToString(k.AttributeName)
		} else {
			sort = aws.ToString(k.AttributeName)
		}
	}
	return partition, sort
}

func indexOf(name string, keys []types.KeySchemaElement, projection *types.Projection) ddbstream.Index {
	x := ddbstream.Index{Name: name}
	x.PartitionKey, x.SortKey = keyNames(keys)
	if projection != nil {
		x.All = projection.ProjectionType == types.ProjectionTypeAll
		x.Include = projection.NonKeyAttributes
	}
	return x
}
