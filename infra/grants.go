package infra

import (
	"reflect"
	"slices"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

// The functions, named as their folders.
const (
	Ingest     = "ingest"
	Hotkeys    = "hotkeys"
	Aggregator = "aggregator"
	Reader     = "reader" // does the work of Hotkeys and Aggregator
	Query      = "query"
)

// Functions lists all functions. A deployment has either Reader or Hotkeys and Aggregator.
var Functions = []string{Ingest, Hotkeys, Aggregator, Reader, Query}

// The tables, by the environment variable that has their name.
const (
	Items    = "HOTSHARD_ITEMS_TABLE"
	Events   = "HOTSHARD_EVENTS_TABLE"
	Rollups  = "HOTSHARD_ROLLUPS_TABLE"
	ShardMap = "HOTSHARD_SHARD_MAP_TABLE"
	Heat     = "HOTSHARD_HEAT_TABLE"
	Source   = "HOTSHARD_SOURCE_TABLE" // the table that a deployment is attached to
)

// Grant allows DynamoDB actions on one table or one index.
type Grant struct {
	Table   string
	Index   string // "" for the table itself, without its indexes
	Actions []string
}

// grantsOf has each function's grants on tables. A transaction needs no grant of its own, only grants of its actions.
var grantsOf = map[string][]Grant{
	Reader: union(detection, folds),
	Ingest: {
		// Writes of all other kinds, batch reads of boards' settings and entries, and a keyed call's session.
		{Items, "", operations[ingest.ItemsClient]()},
		{Events, "", operations[ingest.EventsClient]()},
		// Reads and changes of shard counts.
		{ShardMap, "", operations[ingest.ShardMapClient]()},
	},
	Query: {
		{Items, "", operations[query.ItemsClient]()},              // strong reads of counters, boards' settings and entries
		{Events, "", operations[query.EventsClient]()},            // events
		{Items, schema.ByRank, operations[query.RanksClient]()},   // ranks and neighbors
		{Items, schema.ByGroup, operations[query.GroupsClient]()}, // active sessions
		{Rollups, "", operations[query.RollupsClient]()},          // summaries
		{Heat, "", operations[query.HeatClient]()},                // the detector's counts
		{ShardMap, "", operations[query.ShardMapClient]()},        // shard counts
	},
	Hotkeys:    detection,
	Aggregator: folds,
}

var (
	detection = []Grant{
		// Heat items of all stream shards; minutes and blocks.
		{Heat, "", operations[hotkeys.HeatTable]()},
		// Keys and indexes of the table that the deployment is attached to.
		{Source, "", operations[hotkeys.Describer]()},
		// Reads and changes of shard counts.
		{ShardMap, "", operations[hotkeys.ShardMapTable]()},
	}
	folds = []Grant{
		{Items, "", operations[fold.ItemsClient]()},            // boards' settings, entries and their rows, and removed write shards
		{Items, schema.ByRank, operations[fold.RanksClient]()}, // for tops that have lost entries
		{Rollups, "", operations[fold.RollupsClient]()},        // folds, failures and the compaction
		{ShardMap, "", operations[fold.ShardMapClient]()},      // the maximum number of a board's write shards
	}
)

// union returns the grants of both lists. For a table or index in both, one grant has the actions of both.
func union(first, second []Grant) []Grant {
	list := slices.Clone(first)
	for _, g := range second {
		i := slices.IndexFunc(list, func(l Grant) bool { return l.Table == g.Table && l.Index == g.Index })
		if i < 0 {
			list = append(list, g)
			continue
		}
		actions := slices.Clone(list[i].Actions)
		for _, action := range g.Actions {
			if !slices.Contains(actions, action) {
				actions = append(actions, action)
			}
		}
		list[i].Actions = actions
	}
	return list
}

// operations returns the names of an interface's methods, which are DynamoDB's actions.
func operations[Client any]() (names []string) {
	for method := range reflect.TypeFor[Client]().Methods() {
		names = append(names, method.Name)
	}
	return names
}

// metricSenders lists the functions that may call PutMetricData. IAM can restrict it to a namespace, not to a resource.
var metricSenders = []string{Hotkeys, Reader}
