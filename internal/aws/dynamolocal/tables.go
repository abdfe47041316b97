package dynamolocal

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// Keys of the checkpoint table.
const (
	CheckpointPartitionKey = "mapping"
	CheckpointSortKey      = "stream_shard"
)

// CheckpointTable returns the name of the event source mappings' checkpoint table: <prefix>checkpoints.
func CheckpointTable(names schema.Names) string {
	return strings.TrimSuffix(names.Items, "items") + "checkpoints"
}

// Tables returns the tables of a deployment on one machine: the schema's and the checkpoint table.
func Tables(names schema.Names) []schema.Table {
	return append(schema.Tables(names), schema.Table{
		Name: CheckpointTable(names), PartitionKey: CheckpointPartitionKey, SortKey: CheckpointSortKey,
	})
}

// CreateTables creates the [Tables], waits until they are active, and enables their TTL, as schema.MakeTable does.
func CreateTables(ctx context.Context, client *dynamodb.Client, names schema.Names) error {
	for _, t := range Tables(names) {
		if err := schema.MakeTable(ctx, client, t); err != nil {
			return err
		}
	}
	return nil
}
