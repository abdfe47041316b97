package heat

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Marks are what a window's records said beside their weight. What doesn't fit in
// an item is left out: of beats without a trace, since a beat that is missing only
// fails to prove something; of sightings with their number.
type Marks struct {
	Sightings []Sighting // by base key, each once
	Hidden    uint64     // base keys with sightings that are not listed
	Beats     []Beat

	// Incomplete says that records of the window may not have been counted.
	Incomplete bool
}

// Sighting is what writers saw of one base key in the window. See package schema.
type Sighting struct {
	Base      string // schema.BaseKey's text
	Throttled uint64 // attempts that a partition's limit refused
	Failed    uint64 // write units of failed conditions
	Offered   uint64 // write units in the second with the most, all writers together
}

// Beat is a beat that was put at one time beside several write shards of one key,
// and came through the stream. See package schema.
type Beat struct {
	Name   string    // what the write shards' partition keys have before their number
	At     time.Time // whole milliseconds
	Shards []int     // ascending
}

func (m *Marks) empty() bool {
	return len(m.Sightings) == 0 && len(m.Beats) == 0 && m.Hidden == 0 && !m.Incomplete
}

// Bounds of packed marks, in bytes.
const (
	maxSightingBytes = 60_000
	maxBeatBytes     = 100_000
)

const marksName = "marks"

// packMarks writes: 1 if incomplete; the number hidden; the number of sightings
// and each as base key, throttled, failed, offered; then beats as name, time
// (milliseconds from the window's start), number of write shards, and each as its
// distance from the one before. All numbers are varints, texts have their length
// before them.
func (it *Item) packMarks() []byte {
	incomplete := byte(0)
	if it.Incomplete {
		incomplete = 1
	}
	sightings, listed := packSightings(it.Sightings)
	b := []byte{incomplete}
	b = binary.AppendUvarint(b, it.Hidden+uint64(len(it.Sightings)-listed))
	b = binary.AppendUvarint(b, uint64(listed))
	b = append(b, sightings...)
	for end, i := len(b)+maxBeatBytes, 0; i < len(it.Beats); i++ {
		next := appendBeat(b, &it.Beats[i], it.Start)
		if len(next) > end {
			continue
		}
		b = next
	}
	return b
}

// packSightings packs as many as fit, those with the most throttles first.
func packSightings(list []Sighting) (packed []byte, listed int) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Sighting) int {
		return cmp.Or(cmp.Compare(b.Throttled, a.Throttled), cmp.Compare(b.Offered, a.Offered), cmp.Compare(a.Base, b.Base))
	})
	for _, s := range list {
		next := appendText(packed, s.Base)
		for _, n := range []uint64{s.Throttled, s.Failed, s.Offered} {
			next = binary.AppendUvarint(next, n)
		}
		if len(next) > maxSightingBytes {
			break
		}
		packed, listed = next, listed+1
	}
	return packed, listed
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBeat(b []byte, beat *Beat, start time.Time) []byte {
	b = appendText(b, beat.Name)
	b = binary.AppendVarint(b, beat.At.UnixMilli()-start.UnixMilli())
	b = binary.AppendUvarint(b, uint64(len(beat.Shards)))
	last := 0
	for _, n := range beat.Shards {
		b = binary.AppendUvarint(b, uint64(n-last))
		last = n
	}
	return b
}

func (p *parser) unpackMarks(it *Item) {
	if p.attributes[marksName] == nil {
		return
	}
	v, ok := p.attributes[marksName].(*types.AttributeValueMemberB)
	if !ok {
		p.fail(marksName)
		return
	}
	u := unpacker{b: v.Value}
	it.Incomplete = u.byte() != 0
	it.Hidden = u.uint()
	for n := u.uint(); n > 0 && !u.failed; n-- {
		it.Sightings = append(it.Sightings, Sighting{Base: u.text(), Throttled: u.uint(), Failed: u.uint(), Offered: u.uint()})
	}
	for len(u.b) > 0 && !u.failed {
		it.Beats = append(it.Beats, u.beat(it.Start))
	}
	if u.failed {
		p.fail(marksName)
	}
}

func (u *unpacker) beat(start time.Time) Beat {
	beat := Beat{Name: u.text(), At: time.UnixMilli(start.UnixMilli() + u.int()).UTC()}
	shard := 0
	for n := u.uint(); n > 0 && !u.failed; n-- {
		shard += int(u.uint())
		beat.Shards = append(beat.Shards, shard)
	}
	return beat
}
