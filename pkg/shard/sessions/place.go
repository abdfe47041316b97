package sessions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// fence is for how long after a shard count is out of force a write that was decided
// on under it may still be under way. Calls are cut off after half of that.
const fence = time.Minute

// ahead is twice as far as clocks may differ: so much before a change, another process
// may already go by it.
const ahead = 2 * shardmap.Clocks

// prompt is for how long an attempt of a write that begins a session may take, before
// it has to look whether the shard count has changed meanwhile. That, and as far as
// clocks may differ, is for how long after a change others expect such a write where
// the session belonged before. It is short because what they do against it goes to the
// partitions that the group has just outgrown.
const prompt = 3 * time.Second

// traceTime is how long a trace lasts.
const traceTime = 2 * fence

// slowMove is how much younger than its trace's time a move may be, by the clock of who
// reads that. The time is the begin of the attempt that makes the move: calls are cut
// off after half a fence, clocks may differ, and as long again is for replication.
const slowMove = fence/2 + 2*ahead

// places are the write shards on which a session may be.
type places struct {
	group, id string
	entry     shardmap.Entry // of the group in the shard map
	numbers   []int          // where it belongs first, each once
	fenced    map[int]bool   // those on which late writes may yet begin it
}

// places works out where a session may be at a time, and where it belongs then.
func (s *Reader) places(ctx context.Context, group, id string, at time.Time) (places, error) {
	entry, err := s.shards.Lookup(ctx, sessionsKey(group), at)
	if err != nil {
		return places{}, err
	}
	return placesOf(entry, group, id, at), nil
}

// stayed tells whether a session belonged to one place from one time to another, as far
// as is known.
func (s *Reader) stayed(ctx context.Context, l Lease, from, to time.Time) bool {
	entry, err := s.shards.Lookup(ctx, sessionsKey(l.Group), to)
	if err != nil {
		return false
	}
	home := shard.Calculated(l.ID, entry.History.At(from))
	return !slices.ContainsFunc(entry.History.Counts(from, to), func(count int) bool {
		return shard.Calculated(l.ID, count) != home
	})
}

func placesOf(entry shardmap.Entry, group, id string, at time.Time) places {
	p := places{group: group, id: id, entry: entry, fenced: map[int]bool{}}
	p.add(shard.Calculated(id, entry.History.At(at)))
	for _, count := range entry.History.Counts(at.Add(-prompt-ahead), at.Add(ahead)) {
		n := shard.Calculated(id, count)
		p.fenced[n] = true
		p.add(n)
	}
	from := at.Add(-MaxTTL - fence)
	for _, count := range entry.History.Counts(from, at) {
		p.add(shard.Calculated(id, count))
	}
	if entry.Forgot(from) {
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

func (p *places) key(n int) dynamo.Item { return dynamo.Key(schema.SessionKey(p.group, p.id, n)) }

// maxLooks bounds the readings of places between which a session moves.
const maxLooks = 5

// look returns what is at each place, and the session that is active there, the zero
// Session for none. What it finds was there at one moment as far as it matters: a
// reading is no snapshot, and one that comes too early for the place to which a
// session moves and too late for the one that it leaves finds a trace there. If that
// is all, it reads again, until it finds the session, or nothing else than before.
func (s *Reader) look(ctx context.Context, p places, at time.Time) (found map[int]dynamo.Item, held Session, err error) {
	for range maxLooks {
		before := found
		if found, err = s.read(ctx, p); err != nil {
			return nil, held, err
		}
		traced, err := p.follow(found, at)
		if err != nil {
			return nil, held, err
		}
		held, err = newest(p.group, found, at)
		if err != nil || held.ID != "" || !traced || sameRevs(before, found) {
			return found, held, err
		}
	}
	return nil, held, fmt.Errorf("%w: it moved between %d readings", dynamo.ErrOutrun, maxLooks)
}

// follow tells whether there are traces. They lead to places; if one of these is not
// known here, this process's clock is behind, and has to catch up first: an error.
func (p places) follow(found map[int]dynamo.Item, at time.Time) (traced bool, err error) {
	for _, it := range found {
		if !isTrace(it) || !active(it, at) {
			continue
		}
		traced = true
		to, err := dynamo.Integer(it, schema.SessionMoved)
		if err == nil && !slices.Contains(p.numbers, int(to)) {
			err = fmt.Errorf("%w: it has moved to write shard %d already", dynamo.ErrOutrun, to)
		}
		if err != nil {
			return traced, err
		}
	}
	return traced, nil
}

// sameRevs tells whether two readings found the same: every write raises a rev.
func sameRevs(a, b map[int]dynamo.Item) bool {
	return maps.EqualFunc(a, b, func(a, b dynamo.Item) bool {
		was, err1 := dynamo.Integer(a, schema.SessionRev)
		is, err2 := dynamo.Integer(b, schema.SessionRev)
		return err1 == nil && err2 == nil && was == is
	})
}

// read returns what is at each place, consistently.
func (s *Reader) read(ctx context.Context, p places) (map[int]dynamo.Item, error) {
	keys := make([]dynamo.Item, len(p.numbers))
	number := make(map[string]int, len(p.numbers))
	for i, n := range p.numbers {
		keys[i] = p.key(n)
		number[dynamo.Text(keys[i], schema.PK)] = n
	}
	items, err := dynamo.BatchGet(ctx, s.client, s.table, keys, true)
	if err != nil {
		return nil, err
	}
	found := make(map[int]dynamo.Item, len(items))
	for _, it := range items {
		found[number[dynamo.Text(it, schema.PK)]] = it
	}
	return found, nil
}
