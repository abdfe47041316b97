package marks

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// Around proves that all events of a bucket that were written before it are folded, on
// these partition keys; on none of them there is nothing to prove.
//
// DynamoDB cuts its partitions, and with them stream shards, by ranges of sort keys:
// where two marks came by one stream shard, so did all that lies between them, or it came
// by its parents, which are read before it. Where they came by two, a third may lie
// between: more marks narrow that down to the millisecond.
//
// Where the same stream shard comes again behind another one, items are not spread
// by ranges, as on a virtual stream that spreads them by their hash. Then so many
// marks are put that no stream shard is likely to have got none.
func (m *Marker) Around(ctx context.Context, b parts.Bucket, places []string) (Proof, error) {
	around := around{b, places}
	return m.prove(ctx, around.more)
}

// around is where the marks of a bucket's events are put.
type around struct {
	parts.Bucket
	places []string // partition keys
}

// more adds the marks that are needed, once all that there are were acknowledged.
func (a around) more(f *fence) {
	if len(f.marks) == 0 {
		a.edges(f)
		return
	}
	byPlace := map[string][]*mark{}
	for _, m := range f.marks {
		byPlace[m.pk] = append(byPlace[m.pk], m)
	}
	hashed := false
	for _, list := range byPlace {
		slices.SortStableFunc(list, func(m, n *mark) int { return m.at.Compare(n.at) })
		hashed = hashed || recurs(list)
	}
	if hashed {
		a.scatter(f, shardMarks*f.shards()-len(f.marks))
		return
	}
	for _, pk := range a.places {
		a.narrow(f, byPlace[pk])
	}
}

// edges adds the first marks: some before the first instant and as many after the
// last.
func (a around) edges(f *fence) {
	for _, pk := range a.places {
		for range (edgeMarks/2 + len(a.places) - 1) / len(a.places) {
			a.add(f, pk, a.Start)
			a.add(f, pk, a.End())
		}
	}
}

// add adds a mark before all events of its millisecond, or, at the bucket's end, after
// all events.
func (a around) add(f *fence, pk string, at time.Time) {
	place := at.Format(schema.TimeLayout) + schema.MarkBefore
	switch {
	case at.Equal(a.Start):
		place = a.Label() + schema.MarkBefore
	case at.Equal(a.End()):
		place = a.Label() + schema.MarkAfter
	}
	f.marks = append(f.marks, &mark{pk: pk, at: at, sk: place + f.id + "#" + strconv.Itoa(len(f.marks))})
}

// recurs tells whether a stream shard comes again behind another one.
func recurs(list []*mark) bool {
	seen := map[string]bool{}
	for i, m := range list {
		if i > 0 && m.shard == list[i-1].shard {
			continue
		}
		if seen[m.shard] {
			return true
		}
		seen[m.shard] = true
	}
	return false
}

// scatter adds n marks all over the bucket.
func (a around) scatter(f *fence, n int) {
	for i := range n {
		a.add(f, a.places[i%len(a.places)], within(a.Start, a.End(), i+1, n+1))
	}
}

// narrow adds marks between neighbours that came by different stream shards.
func (a around) narrow(f *fence, list []*mark) {
	for i := 1; i < len(list); i++ {
		from, to := list[i-1], list[i]
		steps := min(gapMarks, int(to.at.Sub(from.at)/time.Millisecond)-1)
		if from.shard == to.shard {
			continue
		}
		for step := range max(0, steps) {
			a.add(f, from.pk, within(from.at, to.at, step+1, steps+1))
		}
	}
}

// within is a millisecond, n of all parts of the way.
func within(from, to time.Time, n, all int) time.Time {
	milliseconds := to.Sub(from).Milliseconds() * int64(n) / int64(all)
	return from.Add(time.Duration(milliseconds) * time.Millisecond)
}

// MaxOwn bounds the marks beside entries that there are; all of a board have some that
// has no more players than this.
const MaxOwn = 1024

// maxSortKey is the longest sort key, in bytes: DynamoDB's quota.
const maxSortKey = 1024

// Beside proves that all writes of a board's entries before it are folded, of a period
// and of others: the stream is the table's.
//
// Entries are spread over the table by the hash of their partition keys. A mark beside
// an entry comes by the same stream shard. For entries that are gone, and those beyond
// MaxOwn, there are as many marks beside players that are made up that no stream
// shard is likely to have got none.
func (m *Marker) Beside(ctx context.Context, p parts.Period, players []string) (Proof, error) {
	own := players[:min(len(players), MaxOwn)]
	made := 0
	return m.prove(ctx, func(f *fence) {
		want := shardMarks * f.shards()
		if len(f.marks) == 0 {
			want = edgeMarks
			for _, player := range own {
				f.beside(p, player)
			}
		}
		for ; made < want; made++ {
			f.beside(p, ulid.Make().String())
		}
	})
}

// beside adds a mark at the place of a player's entry, if there can be one.
func (f *fence) beside(p parts.Period, player string) {
	pk, _ := schema.EntryKey(p.Board, p.Label, player)
	sk := schema.BoardMarkSK(f.o.Now(), f.id, len(f.marks))
	if _, ack := schema.AckKey(f.id, pk, sk); len(ack) <= maxSortKey {
		f.marks = append(f.marks, &mark{pk: pk, sk: sk})
	}
}
