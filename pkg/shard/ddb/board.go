package ddb

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/maypok86/otter/v2"

	"github.com/hotshard/hotshard/internal/schema"
)

// BoardReaderClient is what a BoardReader calls of DynamoDB.
type BoardReaderClient interface {
	BatchGetter
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// BoardClient is what Leaderboards call of DynamoDB.
type BoardClient interface {
	BoardReaderClient
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Leaderboards keeps boards of players by score:
//
//	boards := ddb.NewLeaderboards(client, "hotshard-items", shards, ddb.Unwatched{}, 720*time.Hour)
//	score, err := ddb.ParseScore("12.5")
//	errs := boards.Submit(ctx, "game/1", []ddb.PlayerScore{{Player: "ann", Score: score}}, now)
//	first, err := boards.Top(ctx, "game/1", ddb.AllTime.Label(now), 10, now)
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
// becomes hot there, at half the rate of other keys. The [Watcher] is told of an attempt
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
type Leaderboards struct {
	*BoardReader
	client    BoardClient
	watch     Watcher
	retention time.Duration
	known     *otter.Cache[string, knownBoard]
}

// NewLeaderboards returns a Leaderboards over the items table. Entries are kept for
// retention after the end of their period, those of all time for ever; 0 keeps
// all. It tells watch how its boards fare; [Unwatched] is for nobody.
func NewLeaderboards(client BoardClient, table string, shards *Map, watch Watcher, retention time.Duration) *Leaderboards {
	return &Leaderboards{
		BoardReader: NewBoardReader(client, table, shards),
		client:      client, watch: watched(watch), retention: retention,
		known: otter.Must(&otter.Options[string, knownBoard]{MaximumSize: maxKnownBoards}),
	}
}

// Score is an exact decimal number: below 10^18, above -10^18, with up to nine
// decimal places. The zero Score is 0, and scores are compared with ==. Its methods:
//
//	func (s Score) Add(other Score) (sum Score, ok bool) // ok is false beyond the bounds
//	func (s Score) Cmp(other Score) int                  // negative for s below other
//	func (s Score) Float() float64                       // the nearest one
//	func (s Score) String() string                       // without needless zeros: 12.5
type Score = schema.Score

// ParseScore reads a score in JSON's form, such as 12, -0.5 or 1.5e3.
func ParseScore(text string) (Score, error) { return schema.ParseScore(text) }

// ScoreBound is the least rank key of a score: it lies before those of all places
// with it, and after those of all higher scores. It is for [Leaderboards.Count].
func ScoreBound(s Score) string { return schema.ScoreBound(s) }

// Place is where a player stands: the score, and since when, to the millisecond.
// The rank keys of places have their order as text, the first in rank first. Its
// fields and method:
//
//	Player string
//	Score  Score
//	At     time.Time // UTC
//
//	func (p Place) RankKey() string // as Count takes it
type Place = schema.Place

// PlayerScore is a score of a player's.
type PlayerScore struct {
	Player string
	Score  Score
}

// Mode says what a new score does to a player's entry. It is text, of which the
// constants are all there are.
type Mode = schema.Mode

// The modes.
const (
	// Best keeps the highest score, and the time at which it was reached first.
	Best = schema.Best
	// Latest keeps the newest score by the time of the call.
	Latest = schema.Latest
	// Total adds scores up. The entry's time is that of the newest that counted;
	// adding 0 does not.
	Total = schema.Sum
)

// Period is the kind of a board's periods: text, of which the constants are all there
// are. Its methods:
//
//	func (p Period) Label(t time.Time) string // of the period that holds t, as methods that
//	                                          // read take it: all, 2026-01-05, 2026-W02
//	func (p Period) End(t time.Time) time.Time // the first instant after it; zero for AllTime
type Period = schema.Period

// The periods, which begin at midnight UTC. Weeks are those of ISO 8601.
const (
	AllTime = schema.AllTime
	Daily   = schema.Daily
	Weekly  = schema.Weekly
)

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

func boardKey(board string) string {
	return schema.BaseKey{Type: schema.Board, Name: board}.String()
}
