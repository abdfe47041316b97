package local

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/schema/tableinput"
)

// Keys of the checkpoint table.
const (
	CheckpointPartitionKey = "mapping"
	CheckpointSortKey      = "stream_shard"
)

// CheckpointTable names the table in which the mappings of a deployment keep
// their checkpoints: <prefix>checkpoints.
func CheckpointTable(names schema.Names) string {
	return strings.TrimSuffix(names.Items, "items") + "checkpoints"
}

// Tables are the tables of a deployment on one machine: the schema's, and the
// checkpoints'.
func Tables(names schema.Names) []schema.Table {
	return append(schema.Tables(names), schema.Table{
		Name: CheckpointTable(names), PartitionKey: CheckpointPartitionKey, SortKey: CheckpointSortKey,
	})
}

// CreateTables makes the tables of a deployment, waits until they can be used,
// and turns their expiry on, as tableinput.Make does.
func CreateTables(ctx context.Context, client *dynamodb.Client, names schema.Names) error {
	for _, t := range Tables(names) {
		if err := tableinput.Make(ctx, client, t); err != nil {
			return err
		}
	}
	return nil
}
