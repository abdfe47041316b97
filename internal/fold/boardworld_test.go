package fold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// arena is one period of a board. It has entries in the engine, three stream shards with their records, a
// clock, and an index that lags.
type arena struct {
	t       rapid.TB
	db      *dynamodb.Client
	names   schema.Names
	random  *rand.Rand
	name    string
	size    int
	shards  int // write shards
	players int
	mu      sync.Mutex // a task rechecks several periods concurrently
	clock   time.Time

	entries map[string]board.State
	rows    map[string]board.State        // in the index, of stored entries
	defers  bool                          // the index throttles some writes, so that rows become outdated
	streams [3][]string                   // records
	numbers [3][]string                   // their sequence numbers
	cuts    [3][]int                      // where a stream shard was closed, and its child begins
	done    [3]int                        // records that Lambda takes as done
	parts   []parts.Part[board.Histogram] // an old read of the histogram

	lags   bool // the index is the arena's, and not the engine's
	frozen bool // the index misses all later writes
	index  map[string]*seen

	containers [2]*Handler
	nested     bool
	slow       bool     // folds are slow
	races      int      // interventions left
	read       []string // players whose entries a fold read last
	widened    int      // readings of the index by folds
	loads      int      // reads of the top by folds
	deliveries int
	merges     int
	sums       int // sums compared at rest
	faulty     int // moves of rows that fail
	deferred   int // writes that left an outdated row
	moved      int
}

// seen is a player's row in the lagging index.
type seen struct {
	place boards.Place
	shown bool
	stale time.Time // since when the row is outdated; zero if it is current
}

const (
	maxLag  = 20 * time.Second
	recheck = 30 * time.Second
)

func newArena(t rapid.TB, db *dynamodb.Client, names schema.Names, random *rand.Rand, round int) *arena {
	a := &arena{
		t: t, db: db, names: names, random: random, name: fmt.Sprintf("b#%d", round), shards: 1,
		clock: enginetest.Later, entries: map[string]board.State{}, rows: map[string]board.State{}, index: map[string]*seen{},
	}
	for i := range a.containers {
		h := newHandler(t, Settings{RollupsTable: names.Rollups, BoardRecheck: recheck}, db)
		a.containers[i] = h
		h.tops.boards = &lagging{h.tops.boards, a}
		h.tops.hold = func(size int) int { return size + 2 }
		h.tops.now = func() time.Time { a.mu.Lock(); defer a.mu.Unlock(); return a.clock }
		h.tops.log = slog.New(slog.DiscardHandler)
	}
	return a
}

func (a *arena) player() string { return fmt.Sprintf("p#%d", a.random.IntN(a.players)) }

// write changes a random player's entry, or one of the first players' so that the top gets shorter.
func (a *arena) write() {
	player := a.player()
	if first := a.ranked(); len(first) > 0 && a.random.IntN(3) == 0 {
		player = first[a.random.IntN(min(len(first), a.size+2))].Player
	}
	a.change(player)
}

// change changes a player's entry. It may remove an entry, and does not remove an absent one.
func (a *arena) change(player string) {
	old := a.entries[player]
	next := board.State{Place: boards.Place{Player: player}, Rev: old.Rev + 1, Present: a.random.IntN(5) > 0}
	if !next.Present {
		next.Rev = old.Rev
	}
	if !old.Present {
		if !next.Present {
			return
		}
		next.Rev = old.Rev + 1000 // of the clock, and higher
	}
	if next.Present {
		next.Score = a.score()
		next.At = time.UnixMilli(a.clock.UnixMilli() - int64(a.random.IntN(3))).UTC()
	}
	a.put(next)
}

// score draws one of few scores, so that many tie.
func (a *arena) score() boards.Score {
	text := fmt.Sprint(a.random.IntN(12) - 4)
	if a.random.IntN(4) == 0 {
		text += fmt.Sprintf(".%d", 1+a.random.IntN(9))
	}
	s, err := boards.ParseScore(text)
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

// put writes an entry, and appends the record. All records of a player are in one stream shard.
func (a *arena) put(next board.State) {
	old := a.entries[next.Player]
	a.pass(time.Duration(a.random.IntN(1000)) * time.Millisecond)
	row, pk := next, dynamo.Key(schema.EntryKey(a.name, "all", next.Player))
	keep := a.defers && old.Present && next.Present && a.random.IntN(2) == 0
	if keep {
		a.deferred++
		row = a.rows[next.Player]
	}
	var err error
	switch {
	case keep:
		_, err = a.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: &a.names.Items, Key: pk, UpdateExpression: aws.String("SET score = :score, #at = :at, rev = :rev"),
			ExpressionAttributeNames: map[string]string{"#at": schema.EntryAt},
			ExpressionAttributeValues: dynamo.Item{
				":score": dynamo.Decimal(next.Score.String()), ":at": dynamo.Number(next.At.UnixMilli()), ":rev": dynamo.Number(next.Rev),
			},
		})
	case next.Present:
		_, err = a.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &a.names.Items, Item: a.item(next)})
	default:
		_, err = a.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: &a.names.Items, Key: pk})
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.written(next, row)
}

// written appends the record of a write, after which the entry is next and its row is row.
func (a *arena) written(next, row board.State) {
	old, was := a.entries[next.Player], a.rows[next.Player]
	a.record(a.stream(next.Player), func(sequence string) string {
		return rowRecord(a.name, "all", old, next, was.Rev, row.Rev, sequence, "")
	})
	a.entries[next.Player], a.rows[next.Player] = next, row
	if s := a.index[next.Player]; s == nil {
		a.index[next.Player] = &seen{stale: a.clock}
	} else if s.stale.IsZero() && row != was {
		s.stale = a.clock
	}
}

// stream returns the number of the stream shard with a player's records.
func (a *arena) stream(player string) int { return shard.Calculated(player, len(a.streams)) }

func (a *arena) pass(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clock = a.clock.Add(d)
}

// record appends a record to a stream shard. Its sequence number may have more digits than earlier ones.
func (a *arena) record(stream int, make func(sequence string) string) {
	sequence := fmt.Sprint(9_990 + len(a.streams[stream]))
	a.streams[stream] = append(a.streams[stream], make(sequence))
	a.numbers[stream] = append(a.numbers[stream], sequence)
}

func (a *arena) item(s board.State) map[string]types.AttributeValue {
	it := dynamo.Key(schema.EntryKey(a.name, "all", s.Player))
	it[schema.EntryScore] = dynamo.Decimal(s.Score.String())
	it[schema.EntryAt], it[schema.EntryRev] = dynamo.Number(s.At.UnixMilli()), dynamo.Number(s.Rev)
	it[schema.BoardShard] = dynamo.String(schema.BoardShardKey(a.name, "all", shard.Calculated(s.Player, a.shards)))
	it[schema.RankKey] = dynamo.String(s.RankKey())
	it[schema.EntryRowRev] = it[schema.EntryRev]
	return it
}

// entryRecord returns the record of a write of an entry with its row.
func entryRecord(name, period string, old, next board.State, sequence, more string) string {
	return rowRecord(name, period, old, next, old.Rev, next.Rev, sequence, more)
}

// rowRecord returns the record of a write after which the entry's row has rev is, and had rev was.
func rowRecord(name, period string, old, next board.State, was, is int64, sequence, more string) string {
	pk, sk := schema.EntryKey(name, period, next.Player)
	keys := fmt.Sprintf(`"pk":{"S":%q},"sk":{"S":%q}`, pk, sk)
	image := func(s board.State, row int64) string {
		return fmt.Sprintf(`{%s,"score":{"N":%q},"at":{"N":"%d"},"rev":{"N":"%d"},"row_rev":{"N":"%d"}%s}`, keys, s.Score, s.At.UnixMilli(), s.Rev, row, more)
	}
	kind, images := "INSERT", ""
	if old.Present {
		kind, images = "MODIFY", `,"OldImage":`+image(old, was)
	}
	if next.Present {
		images += `,"NewImage":` + image(next, is)
	} else {
		kind = "REMOVE"
	}
	return fmt.Sprintf(`{"eventName":%q,"dynamodb":{"Keys":{%s},"SequenceNumber":%q%s}}`, kind, keys, sequence, images)
}

// grow changes the number of write shards.
func (a *arena) grow() {
	a.shards = 1 + a.random.IntN(9)
	key := dynamo.Key(schema.MapKey("L#" + a.name))
	key["number_of_shards"], key["max_shards"], key["version"] = dynamo.Number(int64(a.shards)), dynamo.Number(9), dynamo.Number(1)
	key["shard_history"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{dynamo.String(fmt.Sprintf("1:%d", a.shards))}}
	enginetest.Put(a.t, a.db, a.names.ShardMap, key)
}

// turn delivers some records of a stream shard, from the first that is not done or from before.
func (a *arena) turn() {
	i := a.random.IntN(len(a.streams))
	if len(a.streams[i]) == 0 {
		return
	}
	from := a.done[i]
	if a.random.IntN(3) == 0 {
		from = a.random.IntN(from + 1)
	}
	if to := min(len(a.streams[i]), from+1+a.random.IntN(12)); from < to {
		a.deliver(i, from, to)
	}
}

func (a *arena) deliver(i, from, to int) {
	h := a.containers[a.random.IntN(2)]
	id, end := a.shard(i, from)
	to = min(to, end)
	a.deliveries++
	failed, err := hand(h, enginetest.WindowedBatch(id, a.streams[i][from:to]...))
	if err != nil {
		a.t.Fatal(err)
	}
	for at := from; at < to; at++ {
		if failed[a.numbers[i][at]] {
			a.done[i] = max(a.done[i], at)
			return
		}
	}
	a.done[i] = max(a.done[i], to)
}

// rest delivers the remaining records, and runs the task until no note is left.
func (a *arena) rest() {
	a.races = 0
	for range 20 { // more than the remaining faults need
		a.drain()
		a.clock = a.clock.Add(recheck + time.Second)
		if a.task() == `{"looked":0,"failed":0,"later":0,"moved":0}` {
			return
		}
	}
	a.t.Fatal("notes are left after 20 runs of the task")
}

// drain delivers the remaining records.
func (a *arena) drain() {
	for i := range a.streams {
		for tries := 0; a.done[i] < len(a.streams[i]); tries++ {
			if tries > 100 {
				a.t.Fatalf("stream shard %d is not done after 100 deliveries", i)
			}
			a.deliver(i, a.done[i], min(len(a.streams[i]), a.done[i]+9))
		}
	}
}

func (a *arena) task() string {
	out, err := a.containers[a.random.IntN(2)].Invoke(context.Background(), []byte(BoardsTask))
	if errors.Is(err, errAllFailed) { // faults may fail all rechecks
		return err.Error()
	}
	if err != nil {
		a.t.Fatalf("the task answered %s, %v", out, err)
	}
	return string(out)
}

func (a *arena) ranked() []boards.Place {
	var list []boards.Place
	for _, s := range a.entries {
		if s.Present {
			list = append(list, s.Place)
		}
	}
	slices.SortFunc(list, board.Compare)
	return list
}
