package fold

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

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

// expected is the model of a rollup.
type expected struct {
	events, skipped int64
	restated        bool
	sums            map[string]*big.Rat
	min, max        map[string]*big.Rat
	n               map[string]int64
}

func (e *expected) add(field string, x *big.Rat) {
	if e.n[field]++; e.n[field] == 1 {
		e.sums[field], e.min[field], e.max[field] = new(big.Rat), x, x
	}
	e.sums[field].Add(e.sums[field], x)
	if x.Cmp(e.min[field]) < 0 {
		e.min[field] = x
	}
	if x.Cmp(e.max[field]) > 0 {
		e.max[field] = x
	}
}

// world has the records of three stream shards, and the model of their rollups.
type world struct {
	random  *rand.Rand
	round   int
	streams [3][]happening
	done    [3]int // records of each that Lambda takes as done
	alive   [3][]happening
	want    map[string]map[string]*expected // by entity and hour
}

func newWorld(random *rand.Rand, round, records int) *world {
	w := &world{random: random, round: round, want: map[string]map[string]*expected{}}
	for i := range records {
		w.happen(random.IntN(len(w.streams)), i)
	}
	return w
}

func (w *world) bucket(h happening) *expected {
	if w.want[h.entity] == nil {
		w.want[h.entity] = map[string]*expected{}
	}
	label := shard.Hour.Label(h.at, 0)
	if w.want[h.entity][label] == nil {
		w.want[h.entity][label] = &expected{
			sums: map[string]*big.Rat{}, min: map[string]*big.Rat{}, max: map[string]*big.Rat{}, n: map[string]int64{},
		}
	}
	return w.want[h.entity][label]
}

// happen appends a record to a stream shard. The sequence numbers have 7 to 24 digits: their order is that of
// numbers, and not of text.
func (w *world) happen(stream, i int) {
	h := happening{sequence: fmt.Sprint(9_999_980 + i)}
	if stream == 2 {
		h.sequence = fmt.Sprintf("99999999999999999%d", 95+i)
	}
	alive := w.alive[stream]
	at := 0
	if len(alive) > 0 {
		at = w.random.IntN(len(alive))
	}
	switch roll := w.random.IntN(10); {
	case len(alive) == 0 || roll < 7:
		h.kind, h.entity, h.id = "INSERT", fmt.Sprintf("e%d#%d", w.round, w.random.IntN(2)), fmt.Sprint(i)
		h.at = start.Add(time.Duration(w.random.IntN(3)) * time.Hour)
		h.new = w.data(w.bucket(h))
		w.alive[stream] = append(alive, h)
	case roll < 9:
		h.kind, h.entity, h.id, h.at, h.old, h.new = "MODIFY", alive[at].entity, alive[at].id, alive[at].at, alive[at].new, alive[at].new
		if roll == 8 {
			h.new = fmt.Sprintf(`{"M":{"again":{"N":"%d"}}}`, i)
			w.bucket(h).restated = true
		}
		alive[at].new = h.new
	default:
		h.kind, h.entity, h.id, h.at, h.old = "REMOVE", alive[at].entity, alive[at].id, alive[at].at, alive[at].new
		w.alive[stream] = append(alive[:at:at], alive[at+1:]...)
	}
	w.streams[stream] = append(w.streams[stream], h)
}

// data returns the data of a new event, and adds them to the model.
func (w *world) data(e *expected) string {
	cents, large := w.random.Int64N(2_000_000)-1_000_000, w.random.Int64N(1e15)-5e14
	e.events++
	e.add("cents", big.NewRat(cents, 100))
	e.add("large", big.NewRat(large, 1))
	wide := ""
	if w.random.IntN(5) == 0 {
		wide = `,"wide":{"N":"0.1234567890123456"}`
		e.skipped++
	}
	return fmt.Sprintf(`{"M":{"cents":{"N":"%de-2"},"large":{"N":"%d"},"text":{"S":"5"}%s}}`, cents, large, wide)
}

// turn delivers some records of a stream shard to a container, from the first that is not done or from before.
func (w *world) turn(t rapid.TB, h *Handler) {
	i := w.random.IntN(len(w.streams))
	records := w.streams[i]
	from := w.done[i]
	if w.random.IntN(3) == 0 {
		from = w.random.IntN(from + 1)
	}
	to := min(len(records), from+1+w.random.IntN(12))
	failed, err := hand(h, windowed(w.shardID(i), records[from:to]...))
	require.NoError(t, err)
	w.done[i] = max(w.done[i], w.reached(i, from, to, failed))
}

// reached returns up to where Lambda takes the records of a delivery as done.
func (w *world) reached(i, from, to int, failed map[string]bool) int {
	for at := from; at < to; at++ {
		if failed[w.streams[i][at].sequence] {
			return at
		}
	}
	return to
}

func (w *world) shardID(i int) string { return fmt.Sprintf("shardId-%d", i) }

// together delivers overlapping records of one stream shard to both containers concurrently. None of them are
// taken as done.
func (w *world) together(t rapid.TB, containers [2]*Handler) {
	i := w.random.IntN(len(w.streams))
	var group sync.WaitGroup
	var errs [2]error
	for c, h := range containers {
		from := w.random.IntN(w.done[i] + 1)
		to := min(len(w.streams[i]), w.done[i]+w.random.IntN(8))
		if from == to {
			continue
		}
		payload := windowed(w.shardID(i), w.streams[i][from:to]...)
		group.Go(func() { _, errs[c] = hand(h, payload) })
	}
	group.Wait()
	require.NoError(t, errors.Join(errs[:]...))
}

// finish delivers the remaining records.
func (w *world) finish(t rapid.TB, containers [2]*Handler) {
	for i, records := range w.streams {
		for tries := 0; w.done[i] < len(records); tries++ {
			if tries > 100 {
				t.Fatalf("stream shard %d is not done after 100 deliveries", i)
			}
			from := w.done[i]
			to := min(len(records), from+7)
			failed, err := hand(containers[w.random.IntN(2)], windowed(w.shardID(i), records[from:to]...))
			require.NoError(t, err)
			w.done[i] = w.reached(i, from, to, failed)
		}
	}
}

// TestEventsFoldOnceHoweverDelivered delivers the events of three stream shards to two containers, in random
// batches, with redeliveries and concurrently. Updates fail, or have unknown outcomes. The rollups are those of
// a plain model.
func TestEventsFoldOnceHoweverDelivered(t *testing.T) {
	lane.Checks(t, 20)
	h, db := newEvents(t, nil)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		w := newWorld(random, round, rapid.IntRange(1, 60).Draw(t, "records"))
		own := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "faults' seed"), 0))
		client := unreliable(db, own, rapid.IntRange(0, 12).Draw(t, "faults"))
		settings := Settings{RollupsTable: h.table, Rules: h.rules}
		containers := [2]*Handler{newHandler(t, settings, client), newHandler(t, settings, client)}
		for range rapid.IntRange(0, 12).Draw(t, "turns") {
			if random.IntN(4) == 0 {
				w.together(t, containers)
				continue
			}
			w.turn(t, containers[random.IntN(2)])
		}
		w.finish(t, containers)
		for entity, hours := range w.want {
			got := rollups(t, db, h.table, entity)
			for label, want := range hours {
				compare(t, entity+" "+label, got[label], want)
			}
		}
	})
}

func compare(t rapid.TB, what string, got measures.Part, want *expected) {
	t.Helper()
	if got.Events != want.events || got.Skipped != want.skipped || got.Restated != want.restated || len(got.Measures) != len(want.n) {
		t.Fatalf("%s: %d events, %d skipped, restated %t, %d fields; want %d, %d, %t, %d", what,
			got.Events, got.Skipped, got.Restated, len(got.Measures), want.events, want.skipped, want.restated, len(want.n))
	}
	for field, m := range got.Measures {
		for kind, pair := range map[string][2]string{
			"n":   {fmt.Sprint(m.N), fmt.Sprint(want.n[field])},
			"sum": {digits(t, m.Sum), want.sums[field].FloatString(15)},
			"min": {digits(t, m.Min), want.min[field].FloatString(15)},
			"max": {digits(t, m.Max), want.max[field].FloatString(15)},
		} {
			if pair[0] != pair[1] {
				t.Fatalf("%s: %s of %s is %s, want %s", what, kind, field, pair[0], pair[1])
			}
		}
	}
}

func digits(t rapid.TB, d measures.Decimal) string {
	r, ok := new(big.Rat).SetString(d.String())
	if !ok {
		t.Fatalf("%q is not a number", d)
	}
	return r.FloatString(15)
}
