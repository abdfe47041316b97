package hotkeys

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// The DynamoDB calls that hotkeys makes, by table. infra grants them to its role. The actions of a transaction
// need grants on their own tables.
type (
	// HeatTable reads and writes heat items, minutes and blocks.
	HeatTable interface {
		client.Putter
		client.Querier
	}

	// ShardMapTable reads and changes shard counts.
	ShardMapTable interface {
		client.Getter
		client.Putter
		client.Querier
	}

	// Describer describes a table that is not one of hotshard's: its keys and indexes.
	Describer interface {
		DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	}

	// StreamDescriber lists the streams of a table, and the shards of a stream.
	StreamDescriber interface {
		ListStreams(context.Context, *dynamodbstreams.ListStreamsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error)
		DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	}
)

// OpenShards returns the shard map that the settings name.
func OpenShards(client interface {
	ShardMapTable
	client.Transactor
}, s Settings) Shards {
	view := shardmap.New(client, s.ShardMapTable, shardmap.Options{EventAhead: s.EventAhead})
	return shardmap.NewChanger(client, view, shardmap.ChangerOptions{Keep: shardmap.HistoryKept(s.EventRetention)})
}

// FindSource returns the table that the settings name, or the items table for hotshard's own tables. It describes an
// existing table once, so writes to a new index are counted after a restart. A table without a stream is an error.
func FindSource(ctx context.Context, client Describer, s Settings) (heat.CountedTable, error) {
	if s.SourceTable == "" {
		return heat.OwnTable(s.names(), schema.ItemsTable), nil
	}
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.SourceTable})
	if err != nil {
		return heat.CountedTable{}, fmt.Errorf("hotkeys: describing table %s: %w", s.SourceTable, err)
	}
	source, err := heat.ParseTable(out.Table)
	if err != nil {
		return heat.CountedTable{}, fmt.Errorf("hotkeys: counting the writes of table %s: %w", s.SourceTable, err)
	}
	return source, nil
}
