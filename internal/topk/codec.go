package topk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hotshard/hotshard/internal/packed"
)

// AppendBinary appends the sketch to b. It takes no more than Bytes and 40 bytes
// for the whole, with counts below 2^56 and seconds within centuries of each
// other. The form has no version of its own: it is a part of a form
// that has one. After the entries come their Adds, which an earlier release did
// not write.
//
// Decode makes an equal sketch of it, which takes the same calls to the same
// results.
func (s *Sketch) AppendBinary(b []byte) []byte {
	b = binary.AppendUvarint(b, s.total)
	b = binary.AppendUvarint(b, s.floor)
	b = binary.AppendUvarint(b, uint64(len(s.heap)))
	base := s.base()
	b = binary.AppendVarint(b, base)
	for _, n := range s.heap { // in this order the heap is built again as it is
		e := &s.slots[n.slot]
		b = packed.AppendText(b, e.Key)
		b = binary.AppendUvarint(b, e.Count)
		b = binary.AppendUvarint(b, e.Err)
		b = binary.AppendUvarint(b, e.Peak)
		b = binary.AppendVarint(b, e.PeakSecond-base)
		b = binary.AppendVarint(b, e.Second-base)
		b = binary.AppendUvarint(b, e.SecondWeight)
	}
	for _, n := range s.heap {
		b = binary.AppendUvarint(b, s.slots[n.slot].Adds)
	}
	return b
}

// base is a second near all others, so that those are small numbers.
func (s *Sketch) base() int64 {
	if len(s.heap) == 0 {
		return 0
	}
	return s.slots[s.heap[0].slot].PeakSecond
}

// Decode reads what AppendBinary wrote, and nothing after it. Limits are those of
// the sketch from here on; where they are tighter than the sketch is, the
// lightest entries go. Damaged input is an error.
func Decode(b []byte, limits Limits) (*Sketch, error) {
	r := packed.Reader{Left: b}
	s := New(limits)
	s.total, s.floor = r.Uint(), r.Uint()
	n := r.Uint()
	base := r.Int()
	for i := uint64(0); i < n && !r.Damaged; i++ {
		e := entryOf(&r, base)
		if _, twice := s.index[e.Key]; twice || e.Err > e.Count || e.Count < s.floor {
			r.Fail()
			break
		}
		s.push(e)
	}
	s.adds(&r)
	if r.Damaged || len(r.Left) > 0 {
		return nil, fmt.Errorf("topk: %w", errDamaged)
	}
	s.makeRoom(0, 0)
	return s, nil
}

// adds reads what comes after the entries.
func (s *Sketch) adds(r *packed.Reader) {
	if len(r.Left) == 0 {
		return
	}
	for _, n := range s.heap {
		s.slots[n.slot].Adds = r.Uint()
	}
}

var errDamaged = errors.New("the encoded sketch is damaged")

func entryOf(r *packed.Reader, base int64) Entry {
	return Entry{
		Key: r.Text(), Count: r.Uint(), Err: r.Uint(), Peak: r.Uint(),
		PeakSecond: base + r.Int(), Second: base + r.Int(), SecondWeight: r.Uint(),
	}
}
