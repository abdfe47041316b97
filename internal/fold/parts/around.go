package parts

import (
	"context"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// EventPlace is a partition key that may have, or had, events of an hour or a day.
type EventPlace struct {
	PK    string
	Width shard.Bucket
	Start time.Time
}

func (p EventPlace) end() time.Time { return p.Start.Add(p.Width.Width()) }

// maxPlaces bounds the places of one proof, so that it rarely needs more than maxMarks markers.
const maxPlaces = 128

// ProveAllEvents proves that all earlier writes of events at these places are folded, as ProveEvents does. missing is why
// this is not proved; "" if it is.
func (m *Prover) ProveAllEvents(ctx context.Context, places []EventPlace) (missing string, err error) {
	for chunk := range slices.Chunk(places, maxPlaces) {
		proof, err := m.prove(ctx, eventPlaces(chunk).addMarkers)
		if err != nil || proof.Missing != "" {
			return proof.Missing, err
		}
	}
	return "", nil
}

// ProveEvents proves that all earlier writes of a bucket's events on these partition keys are folded.
//
// DynamoDB splits its partitions, and with them stream shards, by ranges of sort keys. If one stream shard acknowledged two
// markers, the records of all items between them came through this stream shard, or through its parents, which are read
// before it. If two stream shards did, a third may be between them: more markers narrow the gap down to a millisecond.
func (m *Prover) ProveEvents(ctx context.Context, b Bucket, partitionKeys []string) (Proof, error) {
	var places eventPlaces
	for _, pk := range partitionKeys {
		places = append(places, EventPlace{pk, shard.Hour, b.Start})
	}
	return m.prove(ctx, places.addMarkers)
}

// eventPlaces are the partition keys of one proof.
type eventPlaces []EventPlace

// addMarkers first adds a marker at the start and the end of each place's time. Later, when all markers are
// acknowledged, it adds markers between neighbours that different stream shards acknowledged.
func (a eventPlaces) addMarkers(f *proofRun) {
	if len(f.markers) == 0 {
		for _, p := range a {
			p.addMarker(f, p.Start)
			p.addMarker(f, p.end())
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

// addMarker adds a marker before all events of its millisecond or, at the place's end, after all events.
func (p EventPlace) addMarker(f *proofRun, at time.Time) {
	place := at.Format(schema.TimeLayout) + schema.MarkerBefore
	switch {
	case at.Equal(p.Start):
		place = p.Width.Label(p.Start) + schema.MarkerBefore
	case at.Equal(p.end()):
		place = p.Width.Label(p.Start) + schema.MarkerAfter
	}
	f.markers = append(f.markers, &proofMarker{pk: p.PK, at: at, sk: place + f.id + "#"})
}

// narrow adds up to gapMarks markers between each two neighbours that different stream shards acknowledged. list is in
// order.
func (p EventPlace) narrow(f *proofRun, list []*proofMarker) {
	for i := 1; i < len(list); i++ {
		from, to := list[i-1], list[i]
		if from.shard == to.shard {
			continue
		}
		gap := to.at.Sub(from.at).Milliseconds()
		added := min(gapMarks, gap-1)
		for n := int64(1); n <= added; n++ {
			p.addMarker(f, from.at.Add(time.Duration(gap*n/(added+1))*time.Millisecond))
		}
	}
}

// MaxOwnMarkers bounds the markers of a proof beside existing entries.
const MaxOwnMarkers = 1024

// maxSortKey is the longest sort key, in bytes: DynamoDB's quota.
const maxSortKey = 1024

// ProveEntries proves that all earlier writes of entries are folded: of this period, which has these players, and of all
// other boards and periods, since all are in one table.
//
// A marker beside an entry comes through the entry's stream shard. For deleted entries, and entries beyond
// MaxOwnMarkers, there are markers beside invented players. A hash distributes them over the table, so that each stream
// shard very probably gets one.
func (m *Prover) ProveEntries(ctx context.Context, p Period, players []string) (Proof, error) {
	existing := players[:min(len(players), MaxOwnMarkers)]
	invented := 0
	return m.prove(ctx, func(f *proofRun) {
		want := shardMarks * f.countStreamShards() // of invented markers, in all
		if len(f.markers) == 0 {
			want = edgeMarks
			for _, player := range existing {
				f.addEntryMarker(p, player)
			}
		}
		for ; invented < want; invented++ {
			f.addEntryMarker(p, ulid.Make().String())
		}
	})
}

// addEntryMarker adds a marker beside a player's entry, unless the acknowledgement's sort key would be too long.
func (f *proofRun) addEntryMarker(p Period, player string) {
	pk, _ := schema.EntryKey(p.Board, p.Label, player)
	sk := schema.BoardMarkerSK(f.o.Now(), f.id, len(f.markers))
	if _, ack := schema.AckKey(f.id, pk, sk); len(ack) <= maxSortKey {
		f.markers = append(f.markers, &proofMarker{pk: pk, sk: sk})
	}
}
