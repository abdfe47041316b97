package parts

import (
	"context"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// EventPlace is a partition key that has, or had, events of a bucket.
type EventPlace struct {
	Bucket
	PK string
}

// maxPlaces bounds the places of a proof, so that it needs few more than maxMarks markers at worst.
const maxPlaces = 128

// AroundAll is Around for many places. missing is why nothing is proved, or "".
func (m *Prover) AroundAll(ctx context.Context, places []EventPlace) (missing string, err error) {
	for some := range slices.Chunk(places, maxPlaces) {
		proof, err := m.prove(ctx, around(some).more)
		if err != nil || proof.Missing != "" {
			return proof.Missing, err
		}
	}
	return "", nil
}

// Around proves that all earlier writes of a bucket's events on these partition keys are folded.
// Without partition keys there is nothing to prove.
//
// DynamoDB splits its partitions, and with them stream shards, by ranges of sort keys. If two
// markers came through one stream shard, all items between them did too, or came through its
// parents, which are read before it. If they came through two stream shards, a third may lie
// between: more markers narrow that down to the millisecond.
func (m *Prover) Around(ctx context.Context, b Bucket, places []string) (Proof, error) {
	var list around
	for _, pk := range places {
		list = append(list, EventPlace{b, pk})
	}
	return m.prove(ctx, list.more)
}

// around has the places of the markers.
type around []EventPlace

// more adds the markers that are still needed, once all others were acknowledged.
func (a around) more(f *fence) {
	if len(f.markers) == 0 {
		for _, p := range a {
			p.addMarker(f, p.Start)
			p.addMarker(f, p.End())
		}
		return
	}
	byPlace := map[string][]*proofMarker{}
	for _, m := range f.markers {
		byPlace[m.pk] = append(byPlace[m.pk], m)
	}
	for _, p := range a {
		list := byPlace[p.PK]
		slices.SortStableFunc(list, func(m, n *proofMarker) int { return m.at.Compare(n.at) })
		p.narrow(f, list)
	}
}

// addMarker adds a marker before all events of its millisecond or, at the bucket's end, after all events.
func (p EventPlace) addMarker(f *fence, at time.Time) {
	place := at.Format(schema.TimeLayout) + schema.MarkBefore
	switch {
	case at.Equal(p.Start):
		place = p.Label() + schema.MarkBefore
	case at.Equal(p.End()):
		place = p.Label() + schema.MarkAfter
	}
	f.markers = append(f.markers, &proofMarker{pk: p.PK, at: at, sk: place + f.id + "#"})
}

// narrow adds markers between neighbours that came through different stream shards.
func (p EventPlace) narrow(f *fence, list []*proofMarker) {
	for i := 1; i < len(list); i++ {
		from, to := list[i-1], list[i]
		steps := min(gapMarks, int(to.at.Sub(from.at)/time.Millisecond)-1)
		if from.shard == to.shard {
			continue
		}
		for step := range steps { // none below 0
			p.addMarker(f, within(from.at, to.at, step+1, steps+1))
		}
	}
}

// within returns the millisecond at n/all of the way.
func within(from, to time.Time, n, all int) time.Time {
	milliseconds := to.Sub(from).Milliseconds() * int64(n) / int64(all)
	return from.Add(time.Duration(milliseconds) * time.Millisecond)
}

// MaxOwn bounds the markers beside existing entries. If a board has at most so many players, each
// gets one.
const MaxOwn = 1024

// maxSortKey is the longest sort key, in bytes: DynamoDB's quota.
const maxSortKey = 1024

// Beside proves that all earlier writes of a board's entries are folded, in this period and in
// others: the stream is the table's.
//
// Entries are distributed over the table by the hash of their partition keys. A marker beside an
// entry comes through the same stream shard. For deleted entries, and those beyond MaxOwn, markers
// beside invented players are so many that each stream shard very probably gets one.
func (m *Prover) Beside(ctx context.Context, p Period, players []string) (Proof, error) {
	own := players[:min(len(players), MaxOwn)]
	made := 0
	return m.prove(ctx, func(f *fence) {
		want := shardMarks * f.shards()
		if len(f.markers) == 0 {
			want = edgeMarks
			for _, player := range own {
				f.addBeside(p, player)
			}
		}
		for ; made < want; made++ {
			f.addBeside(p, ulid.Make().String())
		}
	})
}

// addBeside adds a marker beside a player's entry, if the acknowledgement's key fits.
func (f *fence) addBeside(p Period, player string) {
	pk, _ := schema.EntryKey(p.Board, p.Label, player)
	sk := schema.BoardMarkSK(f.o.Now(), f.id, len(f.markers))
	if _, ack := schema.AckKey(f.id, pk, sk); len(ack) <= maxSortKey {
		f.markers = append(f.markers, &proofMarker{pk: pk, sk: sk})
	}
}
