package fold

import "github.com/hotshard/hotshard/pkg/shard/client"

// A Handler's calls of DynamoDB by table: its role is granted exactly these (infra).
// Transactions need the grants on their tables.
type (
	// Client has the DynamoDB calls of a Handler.
	Client interface {
		ItemsClient
		RanksClient
		RollupsClient
		ShardMapClient
		client.Transactor
	}

	// ItemsClient reads boards' settings and entries, and whether a removed write shard is gone. It moves entries' rows.
	ItemsClient interface {
		client.BatchGetter
		client.Getter
		client.Updater
	}

	// RanksClient reads the items table's index, to build a top.
	RanksClient interface{ client.Querier }

	// RollupsClient serves folds, failures and the compaction.
	RollupsClient interface {
		client.Deleter
		client.Getter
		client.Putter
		client.Querier
		client.Scanner
		client.Updater
	}

	// ShardMapClient reads how many write shards a board ever had.
	ShardMapClient interface{ client.Getter }
)
