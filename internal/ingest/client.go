package ingest

import "github.com/hotshard/hotshard/internal/dynamo"

// What ingest calls of DynamoDB, table by table; its role is granted that (infra/grants). A
// transaction's parts are called on their tables.
type (
	// Client is all of it.
	Client interface {
		ItemsClient
		ShardMapClient
		dynamo.Transactor
	}

	// ItemsClient is for writes of all kinds, boards' settings and entries, and the session that a
	// keyed call puts.
	ItemsClient interface {
		dynamo.BatchGetter
		dynamo.BatchWriter
		dynamo.Deleter
		dynamo.Getter
		dynamo.Putter
		dynamo.Updater
	}

	// ShardMapClient is for the view of shard counts, and changes.
	ShardMapClient interface {
		dynamo.Getter
		dynamo.Putter
		dynamo.Querier
	}
)
