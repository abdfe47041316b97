package boards

import (
	"errors"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ReaderClient has the DynamoDB calls of a Reader.
type ReaderClient interface {
	client.BatchGetter
	client.Querier
}

// Client has the DynamoDB calls of Boards.
type Client interface {
	ReaderClient
	client.Putter
	client.Updater
}

// Boards keeps leaderboards: players ranked by score.
//
// A board has a mode, which decides what a new score does to a player's entry, and periods, each with a ranking of its
// own. Equal scores rank by time, the earlier first, then by player.
//
// # Writes
//
// An entry is one item per player and period, so reading it is one GetItem. Only its row in the index by_rank is
// sharded: the partition key there has a write shard calculated from the player, by the newest shard count. After a
// change of that count, an entry's row moves to its new write shard with the entry's next write. Readers of the index
// query all write shards that the board ever had.
//
// A write reads the entry strongly consistent, computes the new entry, and puts it on condition that the old one is
// unchanged. A score that changes nothing costs the read, and no write. For an entry below 1 KB:
//
//	                      read units  write units: table  index
//	new                            1                   1      1
//	changed                        1                   1      2
//	best or lowest, not beaten     1                   0      0
//
// Each period costs that much; a transaction costs twice the WCU.
//
// # Heat
//
// Each changed score costs 2 WCU in the index, so a board's index partitions become hot at half the rate of other keys.
// A [shard.Observer] receives an attempt as throttled only if an index partition throttled it. A throttle of the table
// is about one player's entry, which more write shards don't relieve.
//
// A write that the index throttles can't go to another write shard. The write waits, and looks up the newest shard
// count at each attempt. After a growth an entry's row leaves its old index partition with the entry's next write,
// which costs 1 WCU there. So a board with many entries is relieved gradually: a partition loses at most as many rows a
// second as it takes WCU/s. With Options.DeferRows, writes don't wait for the index. Pin a board's shard count ahead of
// a known peak, before its entries are written.
//
// # Reads
//
// Rankings are read from the index, by one query per write shard that the board ever had, in
// parallel. The index is eventually consistent: an entry that is being changed may briefly have two
// rows, or none. If it has two, only the one with the higher rev counts. An outdated row ranks the
// entry by its old score. Entry and Entries read the entries themselves, strongly consistent.
type Boards struct {
	*Reader
	client    Client
	observer  shard.Observer
	retention time.Duration
	deferRows bool
	known     dynamo.Cache[knownBoard]
}

// Options are the settings of Boards. The zero value is ready to use.
type Options struct {
	// Retention is how long entries are kept after the end of their period; 0 keeps all forever.
	// Entries of all time never expire.
	Retention time.Duration
	Observer  shard.Observer // receives every write attempt; may be nil
	// DeferRows writes an existing entry without its row in the index if the index throttles the
	// write. The row is then outdated until the entry's next write, or [Boards.MoveRows]. The aggregator
	// calls MoveRows; without the aggregator, leave DeferRows off.
	DeferRows bool
}

// New returns Boards over the items table.
func New(db Client, table string, shards *shardmap.Map, o Options) *Boards {
	return &Boards{
		Reader: NewReader(db, table, shards),
		client: db, observer: o.Observer, retention: o.Retention, deferRows: o.DeferRows,
		known: dynamo.NewCache[knownBoard](maxKnownBoards),
	}
}

// PlayerScore is one score of one player.
type PlayerScore struct {
	Player string
	Score  Score
}

// Errors of boards, beside those of package shard; use errors.Is.
var (
	// ErrModeFixed means that the board has had a score, so its mode can't change.
	ErrModeFixed = errors.New("the board has scores, so its mode can't change")
	// ErrTooMany means that a call has more writes than fit into a transaction.
	ErrTooMany = errors.New("too many writes for one transaction")
	// ErrScoreRange means that a sum would not lie between -10^18 and 10^18.
	ErrScoreRange = errors.New("the sum of the player's scores is out of range")
)

// Key returns a board's key in the shard map.
func Key(board string) string {
	return schema.BaseKey{Type: schema.Board, Name: board}.String()
}
