// Package schema defines what hotshard stores: the tables with their indexes, and
// the form of every key. Whoever makes tables (the CDK app and the local runner)
// and whoever reads or writes a key takes it from here:
//
//	for _, t := range schema.Tables(schema.NamesFor("hotshard-")) {
//		create(t.Name, t.PartitionKey, t.SortKey)
//	}
package schema

// Names of attributes that more than one package uses.
const (
	PK        = "pk"
	SK        = "sk"
	ExpiresAt = "expires_at" // TTL: Unix seconds
	Version   = "v"          // version of a stored form that may change
)

// Table describes one table. All are on demand.
type Table struct {
	Name         string
	PartitionKey string // of type S
	SortKey      string // of type S; "" for none
	TTL          string // attribute with Unix seconds; "" for none
	Stream       bool   // NEW_AND_OLD_IMAGES
	Expendable   bool   // what it holds may be lost: no point-in-time recovery
	Indexes      []Index
}

// Index describes a global secondary index.
type Index struct {
	Name         string
	PartitionKey string   // of type S
	SortKey      string   // of type S
	Include      []string // what it projects beside the keys of table and index; nil for all attributes
}

// Names are the names of the four tables in one deployment.
type Names struct {
	Items    string // sharded items, with a stream
	Rollups  string // summaries
	ShardMap string // shard counts and their change log
	Heat     string // what the detector counted
}

// NamesFor returns the names under a prefix that tells deployments in one
// account apart.
func NamesFor(prefix string) Names {
	return Names{Items: prefix + "items", Rollups: prefix + "rollups", ShardMap: prefix + "shard-map", Heat: prefix + "heat"}
}

// ByRank is the sparse index of leaderboard entries.
const (
	ByRank     = "by_rank"
	BoardShard = "board_shard"
	RankKey    = "rank_key"
)

// ByGroup is the sparse index of sessions. Its sort key is the table's.
const (
	ByGroup      = "by_group"
	SessionShard = "session_shard"
)

// Tables returns the four tables of a deployment.
func Tables(names Names) []Table {
	return []Table{
		{
			Name: names.Items, PartitionKey: PK, SortKey: SK, TTL: ExpiresAt, Stream: true,
			Indexes: []Index{
				{Name: ByRank, PartitionKey: BoardShard, SortKey: RankKey},
				{Name: ByGroup, PartitionKey: SessionShard, SortKey: SK, Include: []string{SessionEnds}},
			},
		},
		{Name: names.Rollups, PartitionKey: PK, SortKey: SK, TTL: ExpiresAt},
		{Name: names.ShardMap, PartitionKey: PK, SortKey: SK, TTL: ExpiresAt},
		{Name: names.Heat, PartitionKey: PK, SortKey: SK, TTL: ExpiresAt, Expendable: true},
	}
}
