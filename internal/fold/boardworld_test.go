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

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// arena is one period of a board. It has entries in the engine, three stream shards with their records, a
// clock, and an index that lags.
type arena struct {
	t      rapid.TB
	db     *dynamodb.Client
	names  schema.Names
	random *rand.Rand
	name   string
	size   int
	lowest bool       // less is better, in half of the tests: score1 negates its points
	mu     sync.Mutex // a task rechecks several periods concurrently
	clock  time.Time

	entries map[string]parts.EntryState
	streams [3][]string // records
	numbers [3][]string // their sequence numbers
	done    [3]int      // records that Lambda takes as done

	lags   bool // the index is the arena's, and not the engine's
	frozen bool // the index misses all later writes
	index  map[string]*seen

	containers [2]*Handler
	loads      int // reads of the top by folds
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
		t: t, db: db, names: names, random: random, name: fmt.Sprintf("b#%d", round),
		clock: enginetest.Later, lowest: shard.Calculated(t.Name(), 2) == 1, entries: map[string]parts.EntryState{}, index: map[string]*seen{},
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

// put writes an entry with its row, and appends the record. All records of a player are in one stream shard.
func (a *arena) put(next parts.EntryState) {
	a.pass(time.Duration(a.random.IntN(1000)) * time.Millisecond)
	if next.Present {
		enginetest.Put(a.t, a.db, a.names.Items, a.item(next))
	} else {
		pk, sk := schema.EntryKey(a.name, "all", next.Player)
		enginetest.Delete(a.t, a.db, a.names.Items, pk, sk)
	}
	old := a.entries[next.Player]
	a.record(a.stream(next.Player), func(sequence string) string { return entryRecord(a.name, "all", old, next, sequence, "") })
	a.entries[next.Player] = next
	if s := a.index[next.Player]; s == nil {
		a.index[next.Player] = &seen{stale: a.clock}
	} else if s.stale.IsZero() {
		s.stale = a.clock
	}
}

func shardID(stream int) string { return fmt.Sprint("shardId-", stream) }

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

func (a *arena) item(s parts.EntryState) map[string]types.AttributeValue {
	it := dynamo.Key(schema.EntryKey(a.name, "all", s.Player))
	it[schema.EntryScore] = dynamo.Decimal(s.Score.String())
	it[schema.EntryAt], it[schema.EntryRev] = dynamo.Number(s.At.UnixMilli()), dynamo.Number(s.Rev)
	it[schema.BoardShard] = dynamo.String(schema.BoardShardKey(a.name, "all", 0))
	it[schema.RankKey] = dynamo.String(s.RankKey())
	it[schema.EntryRowRev] = it[schema.EntryRev]
	return it
}

// entryRecord returns the record of a write of an entry with its row.
func entryRecord(name, period string, old, next parts.EntryState, sequence, more string) string {
	pk, sk := schema.EntryKey(name, period, next.Player)
	keys := fmt.Sprintf(`"pk":{"S":%q},"sk":{"S":%q}`, pk, sk)
	image := func(s parts.EntryState) string {
		return fmt.Sprintf(`{%s,"score":{"N":%q},"at":{"N":"%d"},"rev":{"N":"%d"},"row_rev":{"N":"%d"},"rank_key":{"S":%q}%s}`, keys, s.Score, s.At.UnixMilli(), s.Rev, s.Rev, s.RankKey(), more)
	}
	kind, images := "INSERT", ""
	if old.Present {
		kind, images = "MODIFY", `,"OldImage":`+image(old)
	}
	if next.Present {
		images += `,"NewImage":` + image(next)
	} else {
		kind = "REMOVE"
	}
	return fmt.Sprintf(`{"eventName":%q,"dynamodb":{"Keys":{%s},"SequenceNumber":%q%s}}`, kind, keys, sequence, images)
}

func (a *arena) deliver(i, from, to int) {
	h := a.containers[a.random.IntN(2)]
	id := shardID(i)
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
	slices.SortFunc(list, parts.ComparePlaces)
	return list
}
