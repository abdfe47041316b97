package ddb

import (
	"context"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// fence is for how long after a shard count is out of force a write that was decided
// on under it may still be under way. Calls are cut off after half of that.
const fence = time.Minute

// ahead is how far clocks may differ: so much before a change, another process may
// already go by it.
const ahead = 2 * time.Second

// places are the write shards on which a session may be.
type places struct {
	group, id string
	numbers   []int        // where it belongs first, each once
	fenced    map[int]bool // those on which late writes may yet land
}

// places works out where a session may be at a time, and where it belongs then.
func (s *SessionReader) places(ctx context.Context, group, id string, at time.Time) (places, error) {
	entry, err := s.shards.Lookup(ctx, sessionsKey(group), at)
	if err != nil {
		return places{}, err
	}
	return placesOf(entry, group, id, at), nil
}

func placesOf(entry Entry, group, id string, at time.Time) places {
	p := places{group: group, id: id, fenced: map[int]bool{}}
	p.add(shard.Calculated(id, entry.History.At(at)))
	for _, count := range entry.History.Counts(at.Add(-fence), at.Add(ahead)) {
		n := shard.Calculated(id, count)
		p.fenced[n] = true
		p.add(n)
	}
	from := at.Add(-MaxSessionTTL - fence)
	for _, count := range entry.History.Counts(from, at) {
		p.add(shard.Calculated(id, count))
	}
	if entry.forgotten(from) {
		for n := range entry.Most() {
			p.add(n)
		}
	}
	return p
}

func (p *places) add(n int) {
	if !slices.Contains(p.numbers, n) {
		p.numbers = append(p.numbers, n)
	}
}

func (p *places) key(n int) item { return itemKey(schema.SessionKey(p.group, p.id, n)) }

// read returns what is at each place, consistently.
func (s *SessionReader) read(ctx context.Context, p places) (map[int]item, error) {
	keys := make([]item, len(p.numbers))
	number := make(map[string]int, len(p.numbers))
	for i, n := range p.numbers {
		keys[i] = p.key(n)
		number[text(keys[i], schema.PK)] = n
	}
	items, err := batchGet(ctx, s.client, s.table, keys, true)
	if err != nil {
		return nil, err
	}
	found := make(map[int]item, len(items))
	for _, it := range items {
		found[number[text(it, schema.PK)]] = it
	}
	return found, nil
}
