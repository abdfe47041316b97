package folds

import (
	"cmp"
	"encoding/json"
	"strings"
	"sync"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/schema"
)

// gap is a stretch of the stream that no mapping gets, as if all of them had been
// away for longer than a stream keeps its records. The zero gap is none.
type gap struct {
	mu       sync.Mutex
	from, to string // sequence numbers: what lies beyond from, up to to; "" for none
	lost     map[schema.Target]bool
}

// begin starts the gap behind all that any reader has come to.
func (g *gap) begin(plan eventsource.VirtualPlan) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.from, g.lost = furthest(plan), map[schema.Target]bool{}
}

// end ends it likewise, so that it is the same for readers that lag.
func (g *gap) end(plan eventsource.VirtualPlan) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.to = furthest(plan)
}

// furthest is where readers have come to in the engine's stream, which has one
// stream shard.
func furthest(plan eventsource.VirtualPlan) (sequence string) {
	sequence = "0"
	for _, read := range plan.Read {
		sequence = read
	}
	return sequence
}

// lose takes the records in the gap out of a batch, and counts them.
func (g *gap) lose(b *batch) (records int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.from == "" {
		return 0
	}
	var left []json.RawMessage
	for i, record := range b.records {
		sequence := b.sequence(i)
		if compareSequences(sequence, g.from) <= 0 || g.to != "" && compareSequences(sequence, g.to) > 0 {
			left = append(left, record)
			continue
		}
		records++
		if target, ok := lostBy(record); ok {
			g.lost[target] = true
		}
	}
	b.records = left
	return records
}

// lostBy returns the target that is wrong for good without a record: the rollup of
// a new event. A counter is right again when more of the same write shard comes.
func lostBy(record json.RawMessage) (target schema.Target, ok bool) {
	var r struct {
		EventName string
		Dynamodb  struct{ Keys map[string]struct{ S string } }
	}
	if err := json.Unmarshal(record, &r); err != nil {
		panic(err) // it is of the mapping's making
	}
	id, ok := identityOf(rig.Key(r.Dynamodb.Keys[schema.PK].S, r.Dynamodb.Keys[schema.SK].S))
	if !ok || r.EventName != "INSERT" {
		return target, false
	}
	return id.bucket().target(), true
}

// target returns the bucket as audits name it.
func (b bucketID) target() schema.Target {
	target, err := schema.ParseTarget("E#" + b.String())
	if err != nil {
		panic(err) // events only
	}
	return target
}

// targets lists the targets that have lost something.
func (g *gap) targets() (list []schema.Target) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for target := range g.lost {
		list = append(list, target)
	}
	return list
}

// compareSequences compares sequence numbers, which may exceed 64 bits.
func compareSequences(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
