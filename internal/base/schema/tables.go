// Package schema defines what hotshard stores: the tables with their indexes, and the form of every key. The CDK app
// and the local runner create tables from it, and all code that reads or writes a key uses it:
//
//	for _, t := range schema.Tables(schema.NamesFor("hotshard-")) {
//		create(t.Name, t.PartitionKey, t.SortKey)
//	}
//
// It also has the table of kinds, by which all other packages learn how kinds differ:
//
//	pk := schema.TraitsOf(schema.Counter).Prefix + "page/home"
//
// A [Codec] encodes and decodes the varints and texts of which stored bytes consist.
//
// Functions of a kind, such as its fold, are in one registry per domain. internal/test/arch lists these registries, and
// fails if one lacks a kind.
package schema

// Names of attributes that more than one package uses.
const (
	PK        = "pk"
	SK        = "sk"
	ExpiresAt = "expires_at" // TTL: Unix seconds
	Version   = "v"          // version of a stored form
)

// Table describes a table. All tables have on-demand capacity.
type Table struct {
	Name         string
	PartitionKey string // of type S
	SortKey      string // of type S; "" for none
	TTL          string // attribute with Unix seconds; "" for none
	Stream       bool   // NEW_AND_OLD_IMAGES
	Expendable   bool   // its contents may be lost: no point-in-time recovery
	Indexes      []Index
}

// Index describes a global secondary index.
type Index struct {
	Name         string
	PartitionKey string   // of type S
	SortKey      string   // of type S
	Include      []string // projected attributes besides the keys of table and index; nil for all
}

// Names has the names of a deployment's five tables.
type Names struct {
	Items    string // sharded items other than events, with a stream
	Events   string // events, with a stream
	Rollups  string // summaries
	ShardMap string // shard counts and their change log
	Heat     string // writes that the detector counted, by key
}

// NamesFor returns the names under a prefix, which distinguishes the deployments of an account.
func NamesFor(prefix string) Names {
	return Names{
		Items: prefix + "items", Events: prefix + "events", Rollups: prefix + "rollups",
		ShardMap: prefix + "shard-map", Heat: prefix + "heat",
	}
}

// Of returns the name of the table that has a kind's items.
func (n Names) Of(k Kind) string { return n.Table(TraitsOf(k).Table) }

// OfKey returns the name of the table that has the items of a partition key; a key of no kind is in the items table.
func (n Names) OfKey(pk string) string {
	k, _, _ := CutKind(pk)
	return n.Of(k)
}

// Table returns the name of a table with a stream.
func (n Names) Table(t StreamTable) string {
	if t == EventsTable {
		return n.Events
	}
	return n.Items
}

// Streamed returns the table with a stream that has this name; ok is false for any other table.
func (n Names) Streamed(table string) (t StreamTable, ok bool) {
	for _, t := range StreamTables() {
		if n.Table(t) == table {
			return t, true
		}
	}
	return "", false
}

// ByRank is the sparse index of leaderboard entries by rank. BoardShard and RankKey are its keys.
const (
	ByRank     = "by_rank"
	BoardShard = "board_shard"
	RankKey    = "rank_key"
)

// ByGroup is the sparse index of sessions. Its keys are SessionShard and the table's sort key.
const (
	ByGroup      = "by_group"
	SessionShard = "session_shard"
)

// Tables returns the five tables of a deployment.
func Tables(names Names) []Table {
	return []Table{
		{
			Name: names.Items, PartitionKey: PK, SortKey: SK, TTL: ExpiresAt, Stream: true,
			Indexes: []Index{
				{Name: ByRank, PartitionKey: BoardShard, SortKey: RankKey, Include: []string{EntryRowRev, ExpiresAt}},
				{Name: ByGroup, PartitionKey: SessionShard, SortKey: SK, Include: []string{SessionStarted, SessionEnds}},
			},
		},
		{Name: names.Events, PartitionKey: PK, SortKey: SK, TTL: ExpiresAt, Stream: true},
		{Name: names.Rollups, PartitionKey: PK, SortKey: SK, TTL: ExpiresAt},
		{Name: names.ShardMap, PartitionKey: PK, SortKey: SK, TTL: ExpiresAt},
		{Name: names.Heat, PartitionKey: PK, SortKey: SK, TTL: ExpiresAt, Expendable: true},
	}
}
