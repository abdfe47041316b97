package rollup

import "github.com/hotshard/hotshard/internal/dynamo"

// What a Handler calls of DynamoDB, table by table; its role is granted that (infra/grants).
// A transaction's parts are called on their tables.
type (
	// Client is all of it.
	Client interface {
		ItemsClient
		RanksClient
		RollupsClient
		ShardMapClient
		dynamo.Transactor
	}

	// ItemsClient is for boards' settings and entries, and whether a removed write shard is gone.
	ItemsClient interface {
		dynamo.BatchGetter
		dynamo.Getter
	}

	// RanksClient is for a top that is made from the items table's index.
	RanksClient interface{ dynamo.Querier }

	// RollupsClient is for folds, failures and the compaction.
	RollupsClient interface {
		dynamo.Deleter
		dynamo.Getter
		dynamo.Putter
		dynamo.Querier
		dynamo.Scanner
		dynamo.Updater
	}

	// ShardMapClient is for how many write shards a board ever had.
	ShardMapClient interface{ dynamo.Getter }
)
