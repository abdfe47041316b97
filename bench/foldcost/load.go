package foldcost

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// load says what is folded.
type load struct {
	events  bool // instead of increments of counters by 1
	targets int  // counters or entities
	sources int  // write shards of each counter
	records int
	faults  bool // some batches come again
	short   bool // a fifth of the records does for the ways without batches
}

// How targets are drawn.
const (
	exponent = 1.1
	seed     = 1
)

// firstRev is where the rev of a write shard begins: the microsecond of its first
// write. All have 16 digits for three centuries.
const firstRev = 1_793_491_200_000_000

// noon is when events begin, one a millisecond for the first hour.
var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// record is one of a stream: a write shard after an increment by 1, or an event.
type record struct {
	at     int // in the stream, from 0
	target int
	source int
	writes int // of the write shard so far
}

// draw makes the stream, always the same.
func (l load) draw() []record {
	random := rand.New(rand.NewPCG(seed, 0))
	zipf := rand.NewZipf(random, exponent, 1, uint64(l.targets-1))
	writes := map[[2]int]int{}
	list := make([]record, l.records)
	for i := range list {
		of := [2]int{int(zipf.Uint64()), random.IntN(l.sources)}
		writes[of]++
		list[i] = record{at: i, target: of[0], source: of[1], writes: writes[of]}
	}
	return list
}

func (l load) String() string {
	what := fmt.Sprintf("increments, Zipf %.1f over %d counters with %d write shards each", exponent, l.targets, l.sources)
	if l.events {
		what = fmt.Sprintf("events with one number, Zipf %.1f over %d entities, rolled up by the hour", exponent, l.targets)
	}
	if l.faults {
		what += fmt.Sprintf("; of %d batches one is delivered twice, and one again to a new container, which goes on with the stream", faultEvery)
	}
	return strings.ToUpper(what[:1]) + what[1:]
}

// distinct counts the summary items that a batch is about.
func (l load) distinct(batch []record) int {
	seen := map[[2]int]bool{}
	for _, r := range batch {
		seen[[2]int{r.target, r.source / schema.SourcesPerPartial}] = true
	}
	return len(seen)
}

func (r record) name() string        { return fmt.Sprint("c", r.target) }
func (r record) time() time.Time     { return noon.Add(time.Duration(r.at%3_600_000) * time.Millisecond) }
func (r record) sequence() string    { return fmt.Sprintf("%021d", r.at+1) }
func (r record) temperature() string { return fmt.Sprintf("%d.%d", 15+r.at%20, r.at%10) }

// increment is the record's JSON in a stream, for a counter.
func (r record) increment() string {
	keys := fmt.Sprintf(`"pk":{"S":"C#%s#%d"},"sk":{"S":"-"}`, r.name(), r.source)
	return fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"Keys":{%s},"SequenceNumber":"%s","NewImage":{%s,"rev":{"N":"%d"},"value":{"N":"%d"}}}}`,
		keys, r.sequence(), keys, firstRev+r.writes, r.writes)
}

// event is the same for an event.
func (r record) event() string {
	keys := fmt.Sprintf(`"pk":{"S":"%s"},"sk":{"S":"%s"}`,
		schema.Key{Base: schema.BaseKey{Type: schema.Entity, Name: r.name()}, Bucket: shard.Day.Label(r.time(), 0)}, schema.EventSortKey(r.time(), r.sequence()))
	return fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"Keys":{%s},"SequenceNumber":"%s","NewImage":{%s,"data":{"M":{"temperature":{"N":"%s"}}}}}}`,
		keys, r.sequence(), keys, r.temperature())
}

// payload is a batch as Lambda delivers it.
func (l load) payload(batch []record) []byte {
	records := make([]string, len(batch))
	for i, r := range batch {
		if l.events {
			records[i] = r.event()
		} else {
			records[i] = r.increment()
		}
	}
	return rig.Payload("shardId-0", records)
}
