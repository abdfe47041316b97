package query

import (
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// The DynamoDB calls that query makes, by table. infra grants them to its role.
type (
	// Client makes all of them.
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

	// ItemsClient reads counters' write shards, and boards' settings and entries.
	ItemsClient interface {
		client.BatchGetter
		client.Getter
	}

	// RanksClient reads ranks and neighbours from the index by_rank.
	RanksClient interface{ client.Querier }

	// GroupsClient reads active sessions from the index by_group.
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
