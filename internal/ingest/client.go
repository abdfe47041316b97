package ingest

import (
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// The DynamoDB calls that ingest makes, by table. infra grants them to its role. The actions of a transaction
// need grants on their own tables.
type (
	// Client makes all these calls.
	Client interface {
		ItemsClient
		EventsClient
		ShardMapClient
		client.Transactor
	}

	// EventsClient writes events.
	EventsClient interface{ events.WriterClient }

	// ItemsClient writes items of all other kinds. It also reads a board's settings and entries, and the stored session
	// before a keyed call puts it.
	ItemsClient interface {
		client.BatchGetter
		client.Getter
		client.Putter
		client.Updater
	}

	// ShardMapClient reads and changes shard counts.
	ShardMapClient interface {
		client.Getter
		client.Putter
		client.Querier
	}
)
