package fold

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// TestBoardsAreExactAtRest plays random scores, falls and removals with many ties. Two containers fold three
// stream shards in random batches, with redeliveries, while others write and fold. Updates fail or have unknown
// outcomes. Sizes and shard counts change. The index lags and throttles, so that rows are moved later. Stream
// shards are closed, and fragments of the histogram merged. At rest the top must be the first in rank, and the
// histogram's ranks within their margins.
func TestBoardsAreExactAtRest(t *testing.T) {
	lane.Checks(t, 6)
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	round, widened, merges, loads, deliveries, sums, deferred, moved := 0, 0, 0, 0, 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		a := newArena(t, db, names, random, round)
		a.size = rapid.SampledFrom([]int{1, 3, 8}).Draw(t, "size")
		a.players = rapid.SampledFrom([]int{5, 20, 40}).Draw(t, "players")
		own := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "faults' seed"), 0))
		// No process is both slow and killed: see topFolder.
		faults := rapid.IntRange(0, 12).Draw(t, "faults")
		if a.slow = rapid.Bool().Draw(t, "slow"); a.slow {
			faults = 0
		}
		lost := rapid.SampledFrom([]int{0, 1, maxTopLost}).Draw(t, "lost updates until a fold gives up")
		client := a.racing(unreliable(db, own, faults))
		for _, h := range a.containers {
			h.tops.client, h.cells = client, newCellsFolder(client, Settings{RollupsTable: h.table}, h.now)
			h.cells.limit = 5
			h.rechecks.fewFragments = 1
			h.tops.lost = lost
		}
		if rapid.Bool().Draw(t, "full") {
			a.fill()
		}
		for range 2 {
			a.lags = rapid.Bool().Draw(t, "lags")
			a.races = rapid.IntRange(0, 10).Draw(t, "races")
			a.defers, a.faulty = rapid.Bool().Draw(t, "defers"), rapid.IntRange(0, 3).Draw(t, "failing moves")
			for range rapid.IntRange(1, 60).Draw(t, "steps") {
				a.step()
			}
			a.rest()
			a.compare()
		}
		widened += a.widened
		merges, loads, deliveries, sums = merges+a.merges, loads+a.loads, deliveries+a.deliveries, sums+a.sums
		deferred, moved = deferred+a.deferred, moved+a.moved
	})
	t.Logf("%d boards, %d readings of the index, %d merges, %d reads of tops by %d deliveries, %d sums", round, widened, merges, loads, deliveries, sums)
	t.Logf("%d deferred rows, %d of them moved by the task", deferred, moved)
}

// resize changes the board's size, and appends the record.
func (a *arena) resize(size int) {
	const record = `{"eventName":"MODIFY","dynamodb":{"Keys":{"pk":{"S":%q},"sk":{"S":"-"}},"SequenceNumber":%q,"OldImage":{"size":{"N":"%d"}},"NewImage":{"size":{"N":"%d"}}}}`
	pk, _ := schema.SettingsKey(a.name)
	a.record(0, func(sequence string) string { return fmt.Sprintf(record, pk, sequence, a.size, size) })
	a.size = size
}

// fill writes an entry of each player.
func (a *arena) fill() {
	for i := range a.players {
		s := board.State{Place: boards.Place{Player: fmt.Sprintf("p#%d", i), Score: a.score(), At: a.clock}, Rev: 1, Present: true}
		s.At = time.UnixMilli(s.At.UnixMilli()).UTC()
		a.put(s)
	}
}

// raid removes most of the first players, or gives them the last place.
func (a *arena) raid() {
	all := a.ranked()
	for _, p := range all[:min(len(all), a.random.IntN(a.size+3))] {
		next := a.entries[p.Player]
		if next.Present = a.random.IntN(2) == 0; next.Present {
			next.Rev++
			next.Place = all[len(all)-1]
			next.Player = p.Player
		}
		a.put(next)
	}
}

func (a *arena) step() {
	switch roll := a.random.IntN(44); {
	case roll >= 42:
		a.rotate()
	case roll >= 40:
		a.merge()
	case roll == 0:
		a.grow()
	case roll == 1:
		a.resize(1 + a.random.IntN(10))
	case roll < 5:
		a.raid()
	case roll < 8:
		a.clock = a.clock.Add(time.Duration(a.random.IntN(15)) * time.Second)
		a.task()
	case roll < 22:
		for range 1 + a.random.IntN(4) {
			a.write()
		}
	default:
		a.turn()
	}
}

// unreliable returns a client of which some updates fail before they are sent, or lose their results. The
// number of faults is bounded.
func unreliable(db *dynamodb.Client, random *rand.Rand, faults int) *dynamodb.Client {
	var mu sync.Mutex
	fault := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if faults == 0 || random.IntN(6) > 0 {
			return false
		}
		faults--
		return true
	}
	return enginetest.Around(db, func(in any, call func() error) error {
		if _, update := in.(*dynamodb.UpdateItemInput); !update {
			return call()
		}
		if fault() {
			return errors.New("not sent")
		}
		err := call()
		if fault() {
			return errors.New("unknown outcome")
		}
		return err
	})
}
