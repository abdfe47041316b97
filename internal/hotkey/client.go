package hotkey

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// What hotkeys calls of DynamoDB, table by table; its role is granted that (infra/grants).
// A transaction's parts are called on their tables.
type (
	// HeatTable is for heat items, its own and those of other stream shards, layers,
	// summaries of hours, and the budget of metric names.
	HeatTable interface {
		dynamo.Putter
		dynamo.Querier
		dynamo.Updater
	}

	// ShardMapTable is for the view of shard counts, and changes.
	ShardMapTable interface {
		dynamo.Getter
		dynamo.Putter
		dynamo.Querier
	}

	// Describer is for the keys and indexes of a table that is not hotshard's own.
	Describer interface {
		DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	}

	// StreamDescriber is for the number of a stream's shards.
	StreamDescriber interface {
		DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	}
)

// OpenShards returns the shard map of the settings.
func OpenShards(client interface {
	ShardMapTable
	dynamo.Transactor
}, s Settings) Shards {
	view := shardmap.New(client, s.ShardMapTable, shardmap.Options{ViewAge: s.ViewAge, EventAhead: s.EventAhead})
	return shardmap.NewChanger(client, view, shardmap.ChangerOptions{Keep: shardmap.HistoryKept(s.EventRetention)})
}
