package query

import "github.com/hotshard/hotshard/internal/dynamo"

// What query calls of DynamoDB, table by table; its role is granted that (infra/grants).
type (
	// Client is all of it.
	Client interface {
		ItemsClient
		RanksClient
		GroupsClient
		RollupsClient
		HeatClient
		ShardMapClient
	}

	// ItemsClient is for events, strong reads of counters, boards' settings and entries.
	ItemsClient interface {
		dynamo.BatchGetter
		dynamo.Getter
		dynamo.Querier
	}

	// RanksClient is for ranks and neighbours, by the items table's index.
	RanksClient interface{ dynamo.Querier }

	// GroupsClient is for active sessions, by the items table's other index.
	GroupsClient interface{ dynamo.Querier }

	// RollupsClient is for summaries.
	RollupsClient interface {
		dynamo.BatchGetter
		dynamo.Getter
		dynamo.Querier
	}

	// HeatClient is for what the detector counted.
	HeatClient interface{ dynamo.Querier }

	// ShardMapClient is for the view of shard counts.
	ShardMapClient interface {
		dynamo.Getter
		dynamo.Querier
	}
)
