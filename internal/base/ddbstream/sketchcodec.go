package ddbstream

import (
	"encoding/binary"
	"errors"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// AppendBinary appends the encoded sketch to b: at most [Sketch.Bytes] + 40 bytes if counts are below 2^56 and seconds
// within centuries of each other. The encoding has no version. [DecodeSketch] decodes an equal sketch: the same calls have
// the same results.
func (s *Sketch) AppendBinary(b []byte) []byte {
	b = binary.AppendUvarint(b, s.total)
	b = binary.AppendUvarint(b, s.floor)
	b = binary.AppendUvarint(b, uint64(len(s.heap)))
	base := s.baseSecond()
	b = binary.AppendVarint(b, base)
	for _, n := range s.heap { // in this order DecodeSketch builds the same heap
		e := &s.slots[n.slot]
		b = schema.AppendText(b, e.Key)
		b = binary.AppendUvarint(b, e.Count)
		b = binary.AppendUvarint(b, e.Err)
		b = binary.AppendUvarint(b, e.Peak)
		b = binary.AppendVarint(b, e.PeakSecond-base)
		b = binary.AppendVarint(b, e.Second-base)
		b = binary.AppendUvarint(b, e.SecondWeight)
		b = binary.AppendUvarint(b, e.Adds)
	}
	return b
}

// baseSecond returns a second near those of all entries. Their differences from it are small, and encoded in few bytes.
func (s *Sketch) baseSecond() int64 {
	if len(s.heap) == 0 {
		return 0
	}
	return s.slots[s.heap[0].slot].PeakSecond
}

// DecodeSketch decodes a sketch that AppendBinary encoded. Damaged or trailing bytes are an error. The sketch has the given
// limits. If these are tighter than the encoded sketch's, the lightest entries are evicted.
func DecodeSketch(b []byte, limits SketchLimits) (*Sketch, error) {
	r := schema.Unpacker{Left: b}
	s := NewSketch(limits)
	s.total, s.floor = r.Uint(), r.Uint()
	n := r.Uint()
	base := r.Int()
	for i := uint64(0); i < n && r.Err == nil; i++ {
		e := readEntry(&r, base)
		if _, twice := s.index[e.Key]; twice || e.Err > e.Count || e.Count < s.floor {
			return nil, errDamaged
		}
		s.push(e)
	}
	if r.Err != nil || len(r.Left) > 0 {
		return nil, errDamaged
	}
	s.evict(0, 0)
	return s, nil
}

var errDamaged = errors.New("ddbstream: the encoded sketch is damaged")

func readEntry(r *schema.Unpacker, base int64) SketchEntry {
	return SketchEntry{
		Key: r.Text(), Count: r.Uint(), Err: r.Uint(), Peak: r.Uint(),
		PeakSecond: base + r.Int(), Second: base + r.Int(), SecondWeight: r.Uint(), Adds: r.Uint(),
	}
}
