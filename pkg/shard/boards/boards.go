package boards

import (
	"errors"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/memo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ReaderClient is what a Reader calls of DynamoDB.
type ReaderClient interface {
	dynamo.BatchGetter
	dynamo.Querier
}

// Client is what Boards call of DynamoDB.
type Client interface {
	ReaderClient
	dynamo.Putter
	dynamo.Updater
	dynamo.Deleter
}

// Boards keeps boards of players by score.
//
// A board has a mode, which says what a new score does to a player's entry, and
// periods, each of which is a ranking of its own. Equal scores rank by time, the
// earlier first, then by player.
//
// # Writes
//
// An entry is one item a player and period, so any player's is one GetItem. Only
// its place in the index by_rank is sharded: its partition key there has a write
// shard calculated from the player, with the newest shard count. An entry moves
// to another write shard with the next write after a change of that count;
// readers of the index mind all write shards that ever were.
//
// A write reads the entry consistently, works out what becomes of it, and puts
// it on condition that it still is what was read. A score that changes nothing
// costs the read, and no write. For an entry below 1 KB:
//
//	                      read units  write units: table  index
//	new                            1                   1      1
//	changed                        1                   1      2
//	best, not beaten               1                   0      0
//
// Each period costs that much; a transaction costs twice the write units.
//
// # Heat
//
// A board's index partitions take two units for each changed score, so a board
// becomes hot there, at half the rate of other keys. The [shardmap.Watcher] is told of an attempt
// that was refused when a partition of the index was full. A partition of the table that
// is full is that of one player's entry, for which more write shards do nothing.
//
// A write that the index refuses can't go elsewhere; it waits, and asks for the
// newest shard count at each attempt. After growth an entry leaves its old
// index partition with its next write, which costs one unit there. So a board
// with many entries is relieved by and by: a partition lets go of as many entries
// a second as it takes units. Pin the shard count of a board ahead of a known
// peak, before its entries are written.
//
// # Reads
//
// Rankings are read from the index, one query for each write shard that the
// board ever had, in parallel. The index is eventually consistent, and an entry
// that is being changed may be seen at both of its places, or at neither, for a
// moment. Of two, the one with the higher rev counts; both never do.
type Boards struct {
	*Reader
	client    Client
	watch     shardmap.Watcher
	retention time.Duration
	known     memo.Memo[knownBoard]
}

// Options are how Boards work. The zero value is good.
type Options struct {
	// Retention is how long entries are kept after the end of their period, those of all time
	// for ever; 0 keeps all.
	Retention time.Duration
	Watch     shardmap.Watcher // is told how the boards fare; nil for nobody
}

// New returns Boards over the items table.
func New(client Client, table string, shards *shardmap.Map, o Options) *Boards {
	return &Boards{
		Reader: NewReader(client, table, shards),
		client: client, watch: watching.Or(o.Watch), retention: o.Retention,
		known: memo.New[knownBoard](maxKnownBoards),
	}
}

// PlayerScore is one score of one player.
type PlayerScore struct {
	Player string
	Score  Score
}

// Kinds of error that boards have beside the package's others; use errors.Is.
var (
	// ErrModeSettled means that the board has had a score, so that its mode can't
	// change any more.
	ErrModeSettled = errors.New("the board's mode is settled by its scores")
	// ErrTooMany means that a call's writes are more than a transaction has room for.
	ErrTooMany = errors.New("too many writes for one transaction")
	// ErrScoreRange means that a sum would not be below 10^18 and above -10^18.
	ErrScoreRange = errors.New("the sum of the player's scores is out of range")
)

// Key is a board's key in the shard map.
func Key(board string) string {
	return schema.BaseKey{Type: schema.Board, Name: board}.String()
}
