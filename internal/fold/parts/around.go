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

// ProveAllEvents is ProveEvents for the partition keys of several buckets. missing is why nothing is proved; "" if all
// earlier writes are folded.
func (m *Prover) ProveAllEvents(ctx context.Context, places []EventPlace) (missing string, err error) {
	for some := range slices.Chunk(places, maxPlaces) {
		proof, err := m.prove(ctx, eventPlaces(some).addMarkers)
		if err != nil || proof.Missing != "" {
			return proof.Missing, err
		}
	}
	return "", nil
}

// ProveEvents proves that all earlier writes of a bucket's events on these partition keys are folded.
// Without partition keys there is nothing to prove.
//
// DynamoDB splits its partitions, and with them stream shards, by ranges of sort keys. If two markers
// came through one stream shard, the records of all items between them came through this stream shard,
// too, or through its parents, which are read before it. If the markers came through two stream shards,
// a third may be between: more markers narrow the gap down to a millisecond.
func (m *Prover) ProveEvents(ctx context.Context, b Bucket, partitionKeys []string) (Proof, error) {
	var places eventPlaces
	for _, pk := range partitionKeys {
		places = append(places, EventPlace{b, pk})
	}
	return m.prove(ctx, places.addMarkers)
}

// eventPlaces are the partition keys of one proof.
type eventPlaces []EventPlace

// addMarkers adds the markers that are still needed. All markers before were acknowledged.
func (a eventPlaces) addMarkers(f *fence) {
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
	place := at.Format(schema.TimeLayout) + schema.MarkerBefore
	switch {
	case at.Equal(p.Start):
		place = p.Label() + schema.MarkerBefore
	case at.Equal(p.End()):
		place = p.Label() + schema.MarkerAfter
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
			p.addMarker(f, between(from.at, to.at, step+1, steps+1))
		}
	}
}

// between returns the millisecond at n/all of the way.
func between(from, to time.Time, n, all int) time.Time {
	milliseconds := to.Sub(from).Milliseconds() * int64(n) / int64(all)
	return from.Add(time.Duration(milliseconds) * time.Millisecond)
}

// MaxOwnMarkers bounds the markers beside existing entries. In a period with no more players, each entry gets a marker.
const MaxOwnMarkers = 1024

// maxSortKey is the longest sort key, in bytes: DynamoDB's quota.
const maxSortKey = 1024

// ProveEntries proves that all earlier writes of entries are folded: those of this board's period, which has these players,
// and those of other boards and periods, since all are in one table.
//
// Entries are distributed over the table by the hash of their partition keys. A marker beside an entry comes through the
// entry's stream shard. For deleted entries, and entries beyond MaxOwnMarkers, there are markers beside invented players: so
// many that each stream shard very probably gets one.
func (m *Prover) ProveEntries(ctx context.Context, p Period, players []string) (Proof, error) {
	own := players[:min(len(players), MaxOwnMarkers)]
	made := 0
	return m.prove(ctx, func(f *fence) {
		want := shardMarks * f.countStreamShards()
		if len(f.markers) == 0 {
			want = edgeMarks
			for _, player := range own {
				f.addEntryMarker(p, player)
			}
		}
		for ; made < want; made++ {
			f.addEntryMarker(p, ulid.Make().String())
		}
	})
}

// addEntryMarker adds a marker beside a player's entry, if the acknowledgement's key fits.
func (f *fence) addEntryMarker(p Period, player string) {
	pk, _ := schema.EntryKey(p.Board, p.Label, player)
	sk := schema.BoardMarkerSK(f.o.Now(), f.id, len(f.markers))
	if _, ack := schema.AckKey(f.id, pk, sk); len(ack) <= maxSortKey {
		f.markers = append(f.markers, &proofMarker{pk: pk, sk: sk})
	}
}
