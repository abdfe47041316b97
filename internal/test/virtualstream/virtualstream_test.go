package virtualstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/aws/streamshard"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/test/virtualstream"
)

// keyed returns the record n, of an item with this key.
func keyed(n int, pk, sk string) eventsource.Record {
	return eventsource.Record{
		Sequence: fmt.Sprintf("%021d", n), Created: time.Unix(1700000000, 0),
		JSON: fmt.Appendf(nil, `{"dynamodb":{"Keys":{%q:{"S":%q},%q:{"S":%q}}}}`, schema.PK, pk, schema.SK, sk),
	}
}

// itemOf returns the name of a record's item.
func itemOf(r eventsource.Record) string {
	var e events.DynamoDBEventRecord
	if err := json.Unmarshal(r.JSON, &e); err != nil {
		panic(err)
	}
	return e.Change.Keys[schema.PK].String() + "/" + e.Change.Keys[schema.SK].String()
}

// scripted is a stream in memory. Each stream shard except the last is closed and the parent of
// the next.
type scripted [][]eventsource.Record

func (s scripted) ARN() string { return "arn:base" }

func (s scripted) Shards(context.Context) ([]streamshard.Shard, error) {
	list := []streamshard.Shard{{ID: "b0"}}
	for i := range len(s) - 1 {
		list = append(list, streamshard.Shard{ID: fmt.Sprint("b", i+1), Parent: fmt.Sprint("b", i)})
	}
	return list, nil
}

func (s scripted) Open(shard, after string) eventsource.Reader {
	at := int(shard[1] - '0')
	begin := slices.IndexFunc(s[at], func(r eventsource.Record) bool { return r.Sequence == after }) + 1
	return &scriptedReader{records: s[at][begin:], closes: at < len(s)-1}
}

type scriptedReader struct {
	records []eventsource.Record
	closes  bool // closed after the last record
}

func (r *scriptedReader) Next(_ context.Context, limit int) (next []eventsource.Record, closed bool, err error) {
	n := min(limit, len(r.records))
	next, r.records = r.records[:n], r.records[n:]
	return next, r.closes && len(r.records) == 0, nil
}

// base returns a stream of n records in two stream shards, of 3 partition keys with 5 items each.
func base(n int) scripted {
	s := make(scripted, 2)
	for i := range n {
		at := min(2*i/n, 1)
		s[at] = append(s[at], keyed(i+1, fmt.Sprint("p", i%3), fmt.Sprint("s", i%5)))
	}
	return s
}

// walk reads a source as a mapping does, parents before children, otherwise in random order. It collects the records of each
// stream shard.
type walk struct {
	source eventsource.Source
	random *rand.Rand
	read   map[string][]eventsource.Record
	done   map[string]bool
}

func newWalk(source eventsource.Source, random *rand.Rand) *walk {
	return &walk{source, random, map[string][]eventsource.Record{}, map[string]bool{}}
}

// ready returns the stream shards that may be read next.
func (w *walk) ready(t rapid.TB) []string {
	shards, err := w.source.Shards(context.Background())
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, s := range shards {
		listed[s.ID] = true
	}
	var ids []string
	for _, s := range shards {
		if !w.done[s.ID] && (!listed[s.Parent] || w.done[s.Parent]) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// step reads the page after the last read record, with a new reader. It reports whether the page has records or ends the
// stream shard.
func (w *walk) step(t rapid.TB, id string) bool {
	after := ""
	if had := w.read[id]; len(had) > 0 {
		after = had[len(had)-1].Sequence
	}
	got, closed, err := w.source.Open(id, after).Next(context.Background(), 1+w.random.IntN(20))
	require.NoError(t, err)
	w.read[id] = append(w.read[id], got...)
	w.done[id] = closed
	return closed || len(got) > 0
}

// rest reads all remaining records.
func (w *walk) rest(t rapid.TB) {
	for more := true; more; {
		more = false
		for _, id := range w.ready(t) {
			more = w.step(t, id) || more
		}
	}
}

// TestVirtualStreamKeepsWhatStreamsPromise splits and rotates stream shards at random while records are read. The promises
// hold, and the resumed plan has the same records in the same stream shards.
func TestVirtualStreamKeepsWhatStreamsPromise(t *testing.T) {
	lane.Checks(t, 30)
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		o := virtualstream.Options{Shards: 1 + random.IntN(4), Seed: random.Uint64(), Spread: virtualstream.Spread(random.IntN(2))}
		source := base(200)
		v := mustVirtual(t, source, o)
		w := newWalk(v, random)
		for range 12 {
			for range random.IntN(5) {
				ready := w.ready(t)
				w.step(t, ready[random.IntN(len(ready))])
			}
			live := v.Live()
			if len(live) == 0 {
				continue
			}
			change := []func(string) error{v.Split, v.Rotate}[random.IntN(2)]
			require.NoError(t, change(live[random.IntN(len(live))]))
			o.Plan = throughJSON(t, v.Plan())
			v = mustVirtual(t, source, o)
			w.source = v
		}
		w.rest(t)
		checkPromises(t, w, 200)
		again := newWalk(mustVirtual(t, source, o), random)
		again.rest(t)
		if diff := cmp.Diff(sequences(w.read), sequences(again.read)); diff != "" {
			t.Fatalf("the same plan, read again (-first +second):\n%s", diff)
		}
	})
}

func mustVirtual(t rapid.TB, source eventsource.Source, o virtualstream.Options) *virtualstream.Stream {
	v, err := virtualstream.New(source, o)
	require.NoError(t, err)
	_, err = v.Shards(context.Background())
	require.NoError(t, err)
	return v
}

func throughJSON(t rapid.TB, p virtualstream.Plan) (again virtualstream.Plan) {
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	require.NoError(t, err)
	return again
}

func sequences(read map[string][]eventsource.Record) map[string][]string {
	all := map[string][]string{}
	for id, records := range read {
		for _, r := range records {
			all[id] = append(all[id], r.Sequence)
		}
	}
	return all
}

// checkPromises checks that each of n records is in one stream shard. The records of an item must be in order along
// parents and children.
func checkPromises(t rapid.TB, w *walk, n int) {
	shards, err := w.source.Shards(context.Background())
	require.NoError(t, err)
	total := 0
	newest := map[string]string{}
	finished := map[string]bool{}
	for len(finished) < len(shards) {
		for _, s := range shards {
			if finished[s.ID] || s.Parent != "" && !finished[s.Parent] {
				continue
			}
			finished[s.ID] = true
			before := ""
			for _, r := range w.read[s.ID] {
				if r.Sequence <= before || r.Sequence <= newest[itemOf(r)] {
					t.Fatalf("record %s of %s came after %s and %s", r.Sequence, itemOf(r), before, newest[itemOf(r)])
				}
				before, newest[itemOf(r)] = r.Sequence, r.Sequence
				total++
			}
		}
	}
	if total != n {
		t.Fatalf("%d records were read, want %d", total, n)
	}
}
