package hotkey

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// marks are what a window knows beside the counts.
type marks struct {
	sighted    map[string]*sighted // by base key
	hidden     uint64              // sightings that found no room
	beats      map[beat][]int      // write shards, ascending
	answered   map[string]bool     // names whose heat was decided on in this window
	incomplete bool                // records may be missing from the counts

	sightedBytes, answeredBytes, beatBytes int // what they take at most in a state
}

// beat is one beat of the write shards of one name: a base key's text, of entities
// with the bucket.
type beat struct {
	name string
	at   int64 // Unix milliseconds
}

// Bounds of marks in a state, and what each thing counts for in them beside its
// text.
const (
	maxSightedBytes  = 110_000
	maxAnsweredBytes = 10_000
	maxBeatBytes     = 120_000

	sightedCost, answeredCost, beatCost = 50, 5, 20
	shardCost, sampleCost, numberCost   = 8, 24, 3
)

func newMarks() marks {
	return marks{sighted: map[string]*sighted{}, beats: map[beat][]int{}, answered: map[string]bool{}}
}

func (m *marks) empty() bool {
	return len(m.sighted) == 0 && len(m.beats) == 0 && len(m.answered) == 0 && m.hidden == 0 && !m.incomplete
}

// see takes a record's sighting or beat, if it is one.
func (m *marks) see(rec *ddbstream.Record, pk []byte) {
	if s, ok := parseSighting(rec, pk); ok {
		m.addSighting(s)
	} else if name, n, at, ok := parseBeat(rec, pk); ok {
		m.addBeat(beat{name, at.UnixMilli()}, n)
	}
}

// room takes up bytes of a bound, if that many are left.
func room(used *int, bytes, limit int) bool {
	if *used+bytes > limit {
		return false
	}
	*used += bytes
	return true
}

func (m *marks) addSighting(in sighting) {
	name := in.base.String()
	s := m.sighted[name]
	if s == nil {
		if !room(&m.sightedBytes, len(name)+sightedCost, maxSightedBytes) {
			m.hidden++
			return
		}
		s = &sighted{shards: map[int]uint64{}}
		m.sighted[name] = s
	}
	s.throttled += in.throttled
	s.failed += in.failed
	for _, n := range slices.Sorted(maps.Keys(in.shards)) { // in order, so that a repeat finds the same room
		if _, ok := s.shards[n]; ok || room(&m.sightedBytes, shardCost, maxSightedBytes) {
			s.shards[n] += in.shards[n]
		}
	}
	before := len(s.samples)
	s.offer(in)
	if !room(&m.sightedBytes, (len(s.samples)-before)*sampleCost, maxSightedBytes) {
		s.samples = s.samples[:before] // the last one has no room
	}
}

func (m *marks) addBeat(b beat, n int) {
	shards, ok := m.beats[b]
	if !ok && !room(&m.beatBytes, len(b.name)+beatCost, maxBeatBytes) {
		return
	}
	at, found := slices.BinarySearch(shards, n)
	if found || !room(&m.beatBytes, numberCost, maxBeatBytes) {
		return
	}
	m.beats[b] = slices.Insert(shards, at, n)
}

// answer notes that a name was decided on. It is false if it was before, or if
// there is no room to note it.
func (m *marks) answer(name string) bool {
	if m.answered[name] || !room(&m.answeredBytes, len(name)+answeredCost, maxAnsweredBytes) {
		return false
	}
	m.answered[name] = true
	return true
}

// reopen takes an answer back, to be given anew.
func (m *marks) reopen(name string) {
	delete(m.answered, name)
	m.answeredBytes -= len(name) + answeredCost
}

// stored makes the form that a heat item keeps.
func (m *marks) stored() heat.Marks {
	out := heat.Marks{Hidden: m.hidden, Incomplete: m.incomplete}
	for _, name := range slices.Sorted(maps.Keys(m.sighted)) {
		s := m.sighted[name]
		out.Sightings = append(out.Sightings, heat.Sighting{
			Base: name, Throttled: s.throttled, Failed: s.failed, Offered: (s.offered + 9) / 10,
		})
	}
	for _, b := range m.sortedBeats() {
		if shards := m.beats[b]; len(shards) > 0 {
			out.Beats = append(out.Beats, heat.Beat{Name: b.name, At: time.UnixMilli(b.at).UTC(), Shards: shards})
		}
	}
	return out
}

func (m *marks) sortedBeats() []beat {
	return slices.SortedFunc(maps.Keys(m.beats), func(a, b beat) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name))
	})
}

// partitionName returns what the partition keys of a base key have before their
// write shard's number, in the window. Those of a limit are of a window of its own,
// of which nothing but the keys tells: see limitNames. A limit of which nothing was
// counted has no more than its own name.
func (w *window) partitionName(base schema.BaseKey, limits map[schema.BaseKey]string) string {
	if base.Type == schema.Limit {
		return cmp.Or(limits[base], base.String())
	}
	return partitionName(base, w.start)
}

// limitNames lists the partition names of limits by their window that took most, if
// any was sighted.
func (w *window) limitNames() map[schema.BaseKey]string {
	prefix := schema.BaseKey{Type: schema.Limit}.String()
	sighted := func(name string) bool { return strings.HasPrefix(name, prefix) }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(w.marks.sighted)), sighted) {
		return nil
	}
	names := make(map[schema.BaseKey]string)
	for _, e := range w.sketch.Top(w.sketch.Len()) {
		key, err := schema.ParseKey(e.Key)
		if err != nil || key.Base.Type != schema.Limit || names[key.Base] != "" {
			continue
		}
		names[key.Base], _, _ = shard.Hash.Split(e.Key)
	}
	return names
}

// partitionName returns what the partition keys of a base key other than a limit's
// have before their write shard's number, at a time.
func partitionName(base schema.BaseKey, at time.Time) string {
	name, _, _ := shard.Hash.Split(schema.Key{Base: base, Bucket: schema.EventBucket.Label(at, 0)}.String())
	return name
}
