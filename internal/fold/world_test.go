package fold

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// world has counters, events and boards, which are written through the libraries, and the records of the engine's
// streams. Variants fold these records. Folds may write concurrently, so busy guards the writes.
type world struct {
	t        testing.TB
	db       *dynamodb.Client
	names    schema.Names
	random   *rand.Rand
	streams  []*stream // by table
	variants []*variant

	mu    sync.Mutex
	clock time.Time

	ended   bool // no more faults and writes
	busy    sync.Mutex
	writers []*counters.Writer // with a current view, and with one from before all growth
	down    bool               // the old view's shard map can't be read
	views   map[string]*shardmap.Map
	changer *shardmap.Changer
	died    context.CancelFunc // ends the call of a changer that dies
	events  *events.Writer
	boards  *boards.Boards
	sent    []events.Event
	late    []any // updates and transactions that are applied later
	grown   map[string]bool

	rollups map[string]*parts.Rollup // by target, as the stream's records have them
	poison  map[string]bool          // targets of records that can't be folded
}

// stream is the stream of a table.
type stream struct {
	reader eventsource.Reader
	log    []logged
}

// logged is a record.
type logged struct {
	text, sequence, pk, sk string
	hash                   uint32 // of its item
	at                     time.Time
}

const entities = 8

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{t: t, db: enginetest.Client(t), random: rand.New(rand.NewPCG(seed, 0)), clock: enginetest.Later,
		grown: map[string]bool{}, rollups: map[string]*parts.Rollup{}, poison: map[string]bool{}}
	w.names = enginetest.Tables(t, w.db)
	for _, table := range schema.StreamTables() {
		source, err := eventsource.OpenStream(t.Context(), w.db, enginetest.Streams(t, w.db), w.names.Table(table))
		require.NoError(t, err)
		shards, err := source.Shards(t.Context())
		require.NoError(t, err)
		w.streams = append(w.streams, &stream{reader: source.Open(shards[0].ID, "")})
	}
	unread := enginetest.Before(w.db, func(any) error {
		if w.down {
			return context.DeadlineExceeded
		}
		return nil
	})
	w.views = map[string]*shardmap.Map{"current": w.view(w.db), "old": w.view(unread), "none": w.view(unread)}
	enginetest.Eventually(t, func() bool { return w.views["old"].Load(t.Context(), w.clock) == nil })
	w.down = true
	for _, view := range []string{"current", "old"} {
		w.writers = append(w.writers, counters.NewWriter(w.losing(50), w.names.Items, w.views[view], counters.Options{}))
	}
	w.changer = shardmap.NewChanger(w.losing(8), w.view(w.db), shardmap.ChangerOptions{Clock: w.now})
	w.events = events.NewWriter(w.db, w.names.Events, w.views["current"], events.Options{})
	w.boards = boards.New(w.deferring(), w.names.Items, w.views["current"], boards.Options{DeferRows: true})
	require.NoError(t, w.boards.Configure(t.Context(), "b#1", w.settings("b#1")))
	return w
}

func (w *world) view(client shardmap.Client) *shardmap.Map {
	return shardmap.New(client, w.names.ShardMap, shardmap.Options{})
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

// losing returns a client that applies one in n updates and transactions a minute or more later, after its caller died.
func (w *world) losing(n int) *dynamodb.Client {
	return enginetest.Before(w.db, func(in any) error {
		switch in.(type) {
		case *dynamodb.UpdateItemInput, *dynamodb.TransactWriteItemsInput:
			if w.random.IntN(n) == 0 {
				w.late = append(w.late, in)
				w.died()
				return context.Canceled
			}
		}
		return nil
	})
}

// deferring returns a client of boards whose index throttles some writes.
func (w *world) deferring() *dynamodb.Client {
	return enginetest.Before(w.db, func(in any) error {
		if _, put := in.(*dynamodb.PutItemInput); put && w.random.IntN(4) == 0 {
			return throttled("IndexWriteKeyRangeThroughputExceeded")
		}
		return nil
	})
}

func throttled(reason string) error {
	return &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: &reason, Resource: aws.String("arn:aws:dynamodb:eu-west-1:1:table/t")}}}
}

// commit applies what was lost, a minute later. Changes of a shard map that has changed since fail.
func (w *world) commit() {
	w.pass(time.Minute)
	for _, in := range w.late {
		switch in := in.(type) {
		case *dynamodb.UpdateItemInput:
			_, _ = w.db.UpdateItem(context.Background(), in)
		case *dynamodb.TransactWriteItemsInput:
			_, _ = w.db.TransactWriteItems(context.Background(), in)
		}
	}
	w.late = nil
	w.views["joined"] = w.view(w.db) // of a process that starts now
}

// write makes one of many changes. A call's clock runs on while it retries, so as much time passes here: else a player
// who was removed could come back with a lower rev.
func (w *world) write() {
	w.pass(time.Duration(1+w.random.IntN(1500)) * time.Millisecond)
	defer func(began time.Time) { w.pass(time.Since(began)) }(time.Now())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.died = cancel
	switch n := w.random.IntN(100); {
	case n < 45:
		for range 3 { // the strong sum decides what was added
			_ = w.writers[w.random.IntN(len(w.writers))].Add(ctx, w.counter(), w.random.Int64N(100)-30, w.now())
		}
	case n < 65:
		w.put(ctx)
	case n < 82:
		score, err := boards.ParseScore(fmt.Sprint(w.random.IntN(12)-4, ".", w.random.IntN(3)))
		require.NoError(w.t, err)
		_ = w.boards.Submit(ctx, w.board(), []boards.PlayerScore{{Player: w.player(), Score: score}}, w.now())
	case n < 86:
		w.remove(w.board(), w.player())
	case n < 88:
		name := w.board()
		_ = w.boards.Configure(ctx, name, w.settings(name))
	case n < 95:
		w.changeCount(ctx)
	case n < 97:
		w.commit()
		pk, sk := schema.CounterKey(w.counter(), w.random.IntN(4))
		enginetest.Delete(w.t, w.db, w.names.Items, pk, sk)
	case n < 98:
		if log := w.streams[1].log; len(log) > 0 { // an event is deleted, or expires
			r := log[w.random.IntN(len(log))]
			enginetest.Delete(w.t, w.db, w.names.Events, r.pk, r.sk)
		}
	default:
		w.putPoison()
	}
}

// remove deletes a player's entries of the periods at this time.
func (w *world) remove(board, player string) {
	for _, p := range boards.Periods() {
		pk, sk := schema.EntryKey(board, p.Label(w.now()), player)
		enginetest.Delete(w.t, w.db, w.names.Items, pk, sk)
	}
}

// settings returns a board's settings with another size.
func (w *world) settings(board string) boards.Settings {
	s := boards.Settings{Mode: boards.Latest, Size: 1 + w.random.IntN(8)}
	if board == "b#1" {
		s.Mode, s.Periods = boards.Lowest, []boards.Period{boards.AllTime, boards.Monthly}
	}
	return s
}

func (w *world) counter() string { return fmt.Sprint("c#", w.random.IntN(*keys)) }
func (w *world) board() string   { return fmt.Sprint("b#", w.random.IntN(2)) }
func (w *world) player() string  { return fmt.Sprint("p#", w.random.IntN(30)) }
func (w *world) entity() string  { return fmt.Sprint("e#", w.random.IntN(entities)) }

// put puts events, of which some were put before, with the same data or with other.
func (w *world) put(ctx context.Context) {
	var list []events.Event
	for range 1 + w.random.IntN(8) {
		at := w.now().Add(-time.Duration(w.random.Int64N(int64(3 * time.Hour))))
		ev := events.Event{Entity: w.entity(), ID: fmt.Sprintf("%x", w.random.Uint64()), Time: at, Data: w.data(), New: true}
		if len(w.sent) > 0 && w.random.IntN(5) == 0 {
			ev = w.sent[w.random.IntN(len(w.sent))]
			if w.random.IntN(2) == 0 {
				ev.Data = w.data()
			}
		}
		ev.New = ev.New && w.random.IntN(2) == 0
		list = append(list, ev)
	}
	_ = w.events.Put(ctx, list, w.now())
	for i := range list {
		list[i].New = false
	}
	w.sent = append(w.sent, list...)
}

// data draws an event's data: numbers, of which some are too wide, and other values.
func (w *world) data() dynamo.Item {
	data := dynamo.Item{"t": dynamo.Decimal(fmt.Sprintf("%de-2", w.random.IntN(100_000)-30_000)), "n": dynamo.Number(w.random.Int64N(1e15) - 5e14)}
	for _, more := range []dynamo.Item{nil, {"w": dynamo.Decimal("0.1234567890123456")}, {"w": dynamo.Number(7)}, {"s": dynamo.String("21.5")}, {"s": &types.AttributeValueMemberM{Value: dynamo.Item{"t": dynamo.Number(1)}}}}[:1+w.random.IntN(5)] {
		maps.Copy(data, more)
	}
	return data
}

// changeCount changes a shard count, or deletes a counter with all its write shards.
func (w *world) changeCount(ctx context.Context) {
	name := w.counter()
	key := []string{counters.Key(name), events.Key(w.entity()), boards.Key(w.board())}[max(0, w.random.IntN(6)-3)]
	if w.random.IntN(8) > 0 {
		_, _ = w.changer.Pin(ctx, key, 1+w.random.IntN([]int{8, 150}[w.random.IntN(2)]), shardmap.Note{By: "test"}, w.now())
		w.grown[name] = w.grown[name] || key == counters.Key(name)
		return
	}
	entry, err := w.changer.Reset(ctx, counters.Key(name), w.now())
	if err != nil {
		return // it has one write shard, or the change comes late
	}
	w.pass(time.Minute)
	w.commit()
	for n := range entry.Most() {
		pk, sk := schema.CounterKey(name, n)
		enginetest.Delete(w.t, w.db, w.names.Items, pk, sk)
	}
}

// putPoison puts an item whose record can't be folded.
func (w *world) putPoison() {
	if w.random.IntN(2) == 0 {
		it := dynamo.Key(schema.CounterKey(w.counter(), 400+w.random.IntN(3))) // a write shard that no counter has
		it["rev"] = dynamo.Number(int64(len(w.poison)))
		enginetest.Put(w.t, w.db, w.names.Items, it)
		return
	}
	at := w.now().Truncate(time.Hour)
	it := dynamo.Key(schema.Key{Base: schema.BaseKey{Type: schema.Event, Name: w.entity()}, Bucket: at.Format(time.DateOnly)}.String(), schema.EventSortKey(at, fmt.Sprint("poison", w.random.Uint64())))
	it["data"] = dynamo.String("poison")
	enginetest.Put(w.t, w.db, w.names.Events, it)
}

// pull reads all records of the streams.
func (w *world) pull() {
	for i, table := range schema.StreamTables() {
		s, fence := w.streams[i], fmt.Sprint(w.random.Uint64())
		enginetest.Put(w.t, w.db, w.names.Table(table), dynamo.Key("fence", fence))
		for last := ""; last != fence; {
			page, _, err := s.reader.Next(context.Background(), 1000)
			require.NoError(w.t, err)
			for _, r := range page {
				last = w.learn(s, r)
			}
		}
	}
}

// learn logs a record, and adds what it does to a rollup. It returns the record's sort key.
func (w *world) learn(s *stream, record eventsource.Record) string {
	var r struct {
		EventName string
		Dynamodb  struct {
			Keys               map[string]struct{ S string }
			NewImage, OldImage map[string]map[string]any
		}
	}
	require.NoError(w.t, json.Unmarshal(record.JSON, &r))
	pk, sk := r.Dynamodb.Keys[schema.PK].S, r.Dynamodb.Keys[schema.SK].S
	hash := fnv.New32a()
	_, _ = fmt.Fprint(hash, pk, sk)
	text, expired := string(record.JSON), r.EventName == "REMOVE" && s == w.streams[1] && w.random.IntN(3) == 0
	if expired {
		text = `{"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},` + text[1:]
	}
	s.log = append(s.log, logged{text, record.Sequence, pk, sk, hash.Sum32(), w.now()})
	target, ok := Target(pk, sk)
	image := r.Dynamodb.NewImage
	if r.EventName == "REMOVE" {
		image = r.Dynamodb.OldImage
	}
	data, isMap := image["data"]["M"].(map[string]any)
	switch isEvent := target.Base.Type == schema.Event; {
	case !ok:
	case r.EventName == "REMOVE":
		if isEvent && isMap && !expired {
			w.rollup(target.String()).Subtract(numbersOf(data))
		}
	case isEvent && !isMap, target.Base.Type == schema.Counter && image["value"] == nil:
		w.poison[target.String()] = true
	case isEvent && r.EventName == "INSERT":
		w.rollup(target.String()).Add(numbersOf(data))
	case isEvent && !reflect.DeepEqual(image["data"], r.Dynamodb.OldImage["data"]):
		before, _ := r.Dynamodb.OldImage["data"]["M"].(map[string]any)
		w.rollup(target.String()).Subtract(numbersOf(before))
		w.rollup(target.String()).Add(numbersOf(data))
	}
	return sk
}

func (w *world) rollup(target string) *parts.Rollup {
	if w.rollups[target] == nil {
		part := parts.Rollup{}.Clone()
		w.rollups[target] = &part
	}
	return w.rollups[target]
}
