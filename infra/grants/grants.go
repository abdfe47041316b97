// Package grants says what each function may do to which table, and why. The stack
// makes the functions' roles of it; a test compares it with what their code can call
// (package calls), so that a grant is neither missing nor idle.
//
//	for _, g := range grants.Of(grants.Query) {
//		allow(g.Actions, arnOf(g.Table, g.Index))
//	}
package grants

import "slices"

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
	ByRank  = "by_rank"
	ByGroup = "by_group"
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
	{Ingest, Items, "", []string{"BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "UpdateItem"},
		"writes of all kinds; boards' settings and entries are read in batches, and a session that a keyed call puts"},
	{Ingest, ShardMap, "", []string{"GetItem", "PutItem", "Query"},
		"the view of shard counts, and changes"},

	{Query, Items, "", []string{"BatchGetItem", "GetItem", "Query"}, "events, strong reads of counters, boards' settings and entries"},
	{Query, Items, ByRank, []string{"Query"}, "ranks and neighbours"},
	{Query, Items, ByGroup, []string{"Query"}, "active sessions"},
	{Query, Rollups, "", []string{"BatchGetItem", "GetItem", "Query"}, "summaries"},
	{Query, Heat, "", []string{"Query"}, "what the detector counted"},
	{Query, ShardMap, "", []string{"GetItem", "Query"}, "the view of shard counts"},

	{Hotkeys, Heat, "", []string{"PutItem", "Query", "UpdateItem"}, "heat items, its own and those of other stream shards; summaries of hours; the budget of metric names"},
	{Hotkeys, Source, "", []string{"DescribeTable"}, "keys and indexes of a table that the deployment is attached to"},
	{Hotkeys, ShardMap, "", []string{"GetItem", "PutItem", "Query"}, "the view of shard counts, and changes"},

	{Aggregator, Items, "", []string{"BatchGetItem", "GetItem"}, "boards' settings and entries, and whether a removed write shard is gone"},
	{Aggregator, Items, ByRank, []string{"Query"}, "a top is made from the index when it has lost entries"},
	{Aggregator, Rollups, "", []string{"DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem"}, "folds, failures and the compaction"},
	{Aggregator, ShardMap, "", []string{"GetItem"}, "how many write shards a board ever had"},
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
