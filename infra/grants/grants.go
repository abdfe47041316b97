// Package grants says what each function may do to which table, and why. The stack
// makes the functions' roles of it. The actions are the operations of the interfaces that the
// functions' packages declare, one for each table: their clients are made of these, so that
// code which calls something else does not compile.
//
//	for _, g := range grants.Of[grants.Query] {
//		allow(g.Actions, arnOf(g.Table, g.Index))
//	}
package grants

import (
	"reflect"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/schema"
)

// The functions, as their folders are called.
const (
	Ingest     = "ingest"
	Hotkeys    = "hotkeys"
	Aggregator = "aggregator"
	Query      = "query"
)

// Functions are all of them.
var Functions = []string{Ingest, Hotkeys, Aggregator, Query}

// The tables, by the environment variable that names them to functions.
const (
	Items    = "HOTSHARD_ITEMS_TABLE"
	Rollups  = "HOTSHARD_ROLLUPS_TABLE"
	ShardMap = "HOTSHARD_SHARD_MAP_TABLE"
	Heat     = "HOTSHARD_HEAT_TABLE"
	Source   = "HOTSHARD_SOURCE_TABLE" // that a deployment is attached to
)

// Grant allows some actions of DynamoDB on one table, or on one index.
type Grant struct {
	Table   string
	Index   string // "" for the table itself, which does not include its indexes
	Actions []string
}

// Of has the grants on tables of each function. A transaction needs the actions of its parts, and
// none of its own.
var Of = map[string][]Grant{
	Ingest: {
		// Writes of all kinds; boards' settings and entries are read in batches, and a session that a keyed call puts.
		{Items, "", operations[ingest.ItemsClient]()},
		// The view of shard counts, and changes.
		{ShardMap, "", operations[ingest.ShardMapClient]()},
	},
	Query: {
		{Items, "", operations[query.ItemsClient]()},              // events, strong reads of counters, boards' settings and entries
		{Items, schema.ByRank, operations[query.RanksClient]()},   // ranks and neighbours
		{Items, schema.ByGroup, operations[query.GroupsClient]()}, // active sessions
		{Rollups, "", operations[query.RollupsClient]()},          // summaries
		{Heat, "", operations[query.HeatClient]()},                // what the detector counted
		{ShardMap, "", operations[query.ShardMapClient]()},        // the view of shard counts
	},
	Hotkeys: {
		// Heat items, its own and those of other stream shards; layers; summaries of hours; the budget of metric names.
		{Heat, "", operations[hotkey.HeatTable]()},
		// Keys and indexes of a table that the deployment is attached to.
		{Source, "", operations[hotkey.Describer]()},
		// The view of shard counts, and changes.
		{ShardMap, "", operations[hotkey.ShardMapTable]()},
	},
	Aggregator: {
		{Items, "", operations[rollup.ItemsClient]()},            // boards' settings and entries, and whether a removed write shard is gone
		{Items, schema.ByRank, operations[rollup.RanksClient]()}, // a top is made from the index when it has lost entries
		{Rollups, "", operations[rollup.RollupsClient]()},        // folds, failures and the compaction
		{ShardMap, "", operations[rollup.ShardMapClient]()},      // how many write shards a board ever had
	},
}

// operations are the methods of an interface, which are called as DynamoDB's actions are.
func operations[Client any]() (names []string) {
	for method := range reflect.TypeFor[Client]().Methods() {
		names = append(names, method.Name)
	}
	return names
}

// Metrics are the functions that may send metrics, by PutMetricData, which can be
// bound to a namespace and to no resource.
var Metrics = []string{Hotkeys}
