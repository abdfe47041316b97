// Package grants says what each function may do to which table, and why. The stack
// makes the functions' roles of it. The actions are the operations of the interfaces that the
// functions' packages declare, one for each table: their clients are made of these, so that
// code which calls something else does not compile.
//
//	for _, g := range grants.Of(grants.Query) {
//		allow(g.Actions, arnOf(g.Table, g.Index))
//	}
package grants

import (
	"reflect"
	"slices"

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

// ByRank and ByGroup are the indexes of the items table.
const (
	ByRank  = schema.ByRank
	ByGroup = schema.ByGroup
)

// Grant allows a function some actions of DynamoDB on one table, or on one index.
type Grant struct {
	Function string
	Table    string
	Index    string // "" for the table itself, which does not include its indexes
	Actions  []string
	Why      string
}

// All are the grants on tables. A transaction needs the actions of its parts, and
// none of its own.
var All = []Grant{
	{Ingest, Items, "", operations[ingest.ItemsClient](),
		"writes of all kinds; boards' settings and entries are read in batches, and a session that a keyed call puts"},
	{Ingest, ShardMap, "", operations[ingest.ShardMapClient](),
		"the view of shard counts, and changes"},

	{Query, Items, "", operations[query.ItemsClient](), "events, strong reads of counters, boards' settings and entries"},
	{Query, Items, ByRank, operations[query.RanksClient](), "ranks and neighbours"},
	{Query, Items, ByGroup, operations[query.GroupsClient](), "active sessions"},
	{Query, Rollups, "", operations[query.RollupsClient](), "summaries"},
	{Query, Heat, "", operations[query.HeatClient](), "what the detector counted"},
	{Query, ShardMap, "", operations[query.ShardMapClient](), "the view of shard counts"},

	{Hotkeys, Heat, "", operations[hotkey.HeatTable](), "heat items, its own and those of other stream shards; layers; summaries of hours; the budget of metric names"},
	{Hotkeys, Source, "", operations[hotkey.Describer](), "keys and indexes of a table that the deployment is attached to"},
	{Hotkeys, ShardMap, "", operations[hotkey.ShardMapTable](), "the view of shard counts, and changes"},

	{Aggregator, Items, "", operations[rollup.ItemsClient](), "boards' settings and entries, and whether a removed write shard is gone"},
	{Aggregator, Items, ByRank, operations[rollup.RanksClient](), "a top is made from the index when it has lost entries"},
	{Aggregator, Rollups, "", operations[rollup.RollupsClient](), "folds, failures and the compaction"},
	{Aggregator, ShardMap, "", operations[rollup.ShardMapClient](), "how many write shards a board ever had"},
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

// Streams are the functions that ask how many stream shards the items table's stream has,
// which the event source mappings of all readers may do in their names anyway. The SDK
// calls that service dynamodbstreams, and IAM dynamodb.
var Streams = []string{Hotkeys}

// Of returns a function's grants.
func Of(function string) []Grant {
	return slices.DeleteFunc(slices.Clone(All), func(g Grant) bool { return g.Function != function })
}
