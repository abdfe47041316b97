package compact_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/compact"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

type item = map[string]types.AttributeValue

// record is a stream record, and the time of its write.
type record struct {
	text string
	at   time.Time
}

// world is a counter and an entity that are written, folded and compacted over many days, and the model
// of their summaries.
type world struct {
	db      *dynamodb.Client
	names   schema.Names
	random  *rand.Rand
	began   time.Time
	now     time.Time
	name    string // of the counter and the entity
	streams [3][]record
	done    [3]int

	revs   map[int]int64 // of the counter's write shards
	values map[int]int64
	events map[string]int64 // by hour
	sums   map[string]int64

	aggregators [2]*fold.Handler
	compactor   *compact.Compactor
	removed     int
}

func newWorld(t rapid.TB, db *dynamodb.Client, names schema.Names, name string, random *rand.Rand) *world {
	w := &world{
		db: db, names: names, name: name, began: enginetest.Later,
		random: random, revs: map[int]int64{}, values: map[int]int64{}, events: map[string]int64{}, sums: map[string]int64{},
	}
	w.now = w.began
	w.restart(t)
	options := compact.Options{RollupsTable: names.Rollups, ItemsTable: names.Items, PageItems: 1 + w.random.Int32N(9), WriteUnits: 1_000_000, MaxFragments: 1}
	w.compactor = compact.New(options, db, slog.New(slog.DiscardHandler), func() time.Time { return w.now })
	return w
}

// dated returns a client that sets the world's time in the aggregator's updates.
func (w *world) dated() *dynamodb.Client {
	return enginetest.Before(w.db, func(in any) error {
		if in, ok := in.(*dynamodb.UpdateItemInput); ok {
			for _, name := range []string{":at", ":as_of"} {
				if in.ExpressionAttributeValues[name] != nil {
					in.ExpressionAttributeValues[name] = dynamo.Number(w.now.UnixMilli())
				}
			}
		}
		return nil
	})
}

// restart replaces the aggregator's containers by two that cache nothing.
func (w *world) restart(t rapid.TB) {
	rules, err := fold.ParseRules(`[{"every":"1h"}]`)
	if err != nil {
		t.Fatal(err)
	}
	settings := fold.Settings{RollupsTable: w.names.Rollups, Rules: rules}
	for i := range w.aggregators {
		if w.aggregators[i], err = fold.New(settings, w.dated(), slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
}

// write changes a write shard or removes it, or puts an event.
func (w *world) write(t rapid.TB, stream int) {
	w.now = w.now.Add(time.Millisecond)                  // revs of new write shards are the clock's
	n := 1 + stream + len(w.streams)*30*w.random.IntN(2) // in two partials; a write shard keeps its stream shard
	switch _, there := w.revs[n]; {
	case w.random.IntN(3) == 0:
		w.putEvent(stream)
	case there && w.random.IntN(3) == 0:
		w.drop(t, stream, n)
	default:
		w.count(t, stream, n, int64(w.random.IntN(3)))
	}
}

func (w *world) sourceKey(n int) string {
	return schema.Key{Base: schema.BaseKey{Type: kind.Counter, Name: w.name}, Shard: n}.String()
}

// count increments the counter on a write shard.
func (w *world) count(t rapid.TB, stream, n int, delta int64) {
	if _, there := w.revs[n]; !there {
		w.revs[n] = w.now.UnixMicro()
	}
	w.revs[n], w.values[n] = w.revs[n]+1, w.values[n]+delta
	w.append(stream, "MODIFY", "New", w.sourceKey(n), "+", w.source(n))
	enginetest.Put(t, w.db, w.names.Items, dynamo.Key(w.sourceKey(n), "+"))
}

// drop removes a write shard of the counter.
func (w *world) drop(t rapid.TB, stream, n int) {
	w.append(stream, "REMOVE", "Old", w.sourceKey(n), "+", w.source(n))
	delete(w.revs, n)
	delete(w.values, n)
	enginetest.Delete(t, w.db, w.names.Items, w.sourceKey(n), "+")
}

func (w *world) source(n int) string {
	return fmt.Sprintf(`"rev":{"N":"%d"},"value":{"N":"%d"}`, w.revs[n], w.values[n])
}

// putEvent writes an event of the hour in which the world began, or of the hour before.
func (w *world) putEvent(stream int) {
	at := w.began.Truncate(time.Hour).Add(-time.Duration(w.random.IntN(2)) * time.Hour)
	id, n := len(w.streams[stream]), w.random.Int64N(100)
	label := shard.Hour.Label(at, 0)
	w.events[label]++
	w.sums[label] += n
	pk := fmt.Sprintf("E#%s#%s#0", w.name, shard.Day.Label(at, 0))
	w.append(stream, "INSERT", "New", pk, schema.EventSortKey(at, fmt.Sprint(stream, "-", id)), fmt.Sprintf(`"data":{"M":{"t":{"N":"%d"}}}`, n))
}

func (w *world) append(stream int, kind, image, pk, sk, rest string) {
	keys := fmt.Sprintf(`"pk":{"S":%q},"sk":{"S":%q}`, pk, sk)
	w.streams[stream] = append(w.streams[stream], record{at: w.now, text: fmt.Sprintf(
		`{"eventName":%q,"dynamodb":{"Keys":{%s},"SequenceNumber":"%d","%sImage":{%s,%s}}}`, kind, keys, 1+len(w.streams[stream]), image, keys, rest)})
}

// deliver delivers the next records of a stream shard.
func (w *world) deliver(t rapid.TB, stream, upTo int) {
	w.hand(t, stream, w.done[stream], upTo)
	w.done[stream] = max(w.done[stream], upTo)
}

// redeliver delivers some delivered records again, as far back as a stream keeps them.
func (w *world) redeliver(t rapid.TB, stream int) {
	from := w.done[stream]
	for from > 0 && w.now.Sub(w.streams[stream][from-1].at) < 24*time.Hour {
		from--
	}
	if n := w.done[stream] - from; n > 0 {
		from += w.random.IntN(n)
		w.hand(t, stream, from, from+1+w.random.IntN(w.done[stream]-from))
	}
}

func (w *world) hand(t rapid.TB, stream, from, to int) {
	if from == to {
		return
	}
	var records []string
	for _, r := range w.streams[stream][from:to] {
		records = append(records, r.text)
	}
	out, err := w.aggregators[w.random.IntN(2)].Invoke(context.Background(), enginetest.WindowedBatch(fmt.Sprint("shardId-", stream), records...))
	if err != nil || bytes.Contains(out, []byte("itemIdentifier")) {
		t.Fatalf("the aggregator returned %s, %v; want no failures", out, err)
	}
}

func (w *world) deliverAll(t rapid.TB) {
	for i, records := range w.streams {
		w.deliver(t, i, len(records))
	}
}

// pass advances the clock. Before a stream would lose records, it delivers them.
func (w *world) pass(t rapid.TB, by time.Duration) {
	for i, records := range w.streams {
		if w.done[i] < len(records) && w.now.Add(by).Sub(records[w.done[i]].at) >= 24*time.Hour {
			w.deliver(t, i, len(records))
		}
	}
	w.now = w.now.Add(by)
	for _, it := range w.all(t) {
		if at, ok := it["expires_at"].(*types.AttributeValueMemberN); ok && at.Value <= fmt.Sprint(w.now.Unix()) {
			enginetest.Delete(t, w.db, w.names.Rollups, dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
		}
	}
}

func (w *world) compact(t rapid.TB) {
	enginetest.Delete(t, w.db, w.names.Rollups, schema.CompactionPK, schema.SoleSK) // begins a new round
	answer, err := w.compactor.Run(context.Background())
	if err != nil || answer.Failed > 0 || !answer.Done {
		t.Fatalf("the task answered %+v, %v", answer, err)
	}
	w.removed += answer.Tombstones
}
