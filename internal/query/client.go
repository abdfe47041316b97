package query

import (
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// query's calls of DynamoDB by table: its role is granted exactly these (infra/grants).
type (
	// Client has all calls of query.
	Client interface {
		ItemsClient
		EventsClient
		RanksClient
		GroupsClient
		RollupsClient
		HeatClient
		ShardMapClient
	}

	// EventsClient reads events.
	EventsClient interface{ events.ReaderClient }

	// ItemsClient reads counters (strong), and boards' settings and entries.
	ItemsClient interface {
		client.BatchGetter
		client.Getter
	}

	// RanksClient reads ranks and neighbours from the items table's index.
	RanksClient interface{ client.Querier }

	// GroupsClient reads active sessions from the items table's other index.
	GroupsClient interface{ client.Querier }

	// RollupsClient reads summaries.
	RollupsClient interface {
		client.BatchGetter
		client.Getter
		client.Querier
	}

	// HeatClient reads the detector's heat items.
	HeatClient interface{ client.Querier }

	// ShardMapClient reads the shard map.
	ShardMapClient interface {
		client.Getter
		client.Querier
	}
)
