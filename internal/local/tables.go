package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/schema/tableinput"
)

// tableTimeout bounds the wait for one table to become active.
const tableTimeout = 2 * time.Minute

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

// CreateTables makes the tables of a deployment and waits until they are
// active. A table that exists is left as it is; it is an error when its keys,
// its indexes or its stream are other than the schema's.
func CreateTables(ctx context.Context, client *dynamodb.Client, names schema.Names) error {
	for _, t := range Tables(names) {
		if err := createTable(ctx, client, t); err != nil {
			return fmt.Errorf("create table %s: %w", t.Name, err)
		}
	}
	return nil
}

func createTable(ctx context.Context, client *dynamodb.Client, t schema.Table) error {
	_, err := client.CreateTable(ctx, tableinput.Create(t))
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return err
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 20*time.Millisecond, time.Second
	})
	out, err := waiter.WaitForOutput(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}, tableTimeout)
	if err != nil {
		return err
	}
	if err := checkTable(out.Table, t); err != nil {
		return err
	}
	return enableTTL(ctx, client, t)
}

// enableTTL turns expiry on unless it is on: saying so twice is an error.
func enableTTL(ctx context.Context, client *dynamodb.Client, t schema.Table) error {
	if t.TTL == "" {
		return nil
	}
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Name})
	if err != nil {
		return fmt.Errorf("describe its expiry: %w", err)
	}
	if d := out.TimeToLiveDescription; d != nil && d.TimeToLiveStatus != types.TimeToLiveStatusDisabled {
		if have := aws.ToString(d.AttributeName); have != t.TTL {
			return fmt.Errorf("its items expire by attribute %q instead of %q", have, t.TTL)
		}
		return nil
	}
	_, err = client.UpdateTimeToLive(ctx, tableinput.Expiry(t))
	if err != nil {
		return fmt.Errorf("enable its expiry: %w", err)
	}
	return nil
}
