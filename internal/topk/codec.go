package topk

import (
	"encoding/binary"
	"errors"
	"fmt"
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
		b = binary.AppendUvarint(b, uint64(len(e.Key)))
		b = append(b, e.Key...)
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
	r := reader{b: b}
	s := New(limits)
	s.total, s.floor = r.uint(), r.uint()
	n := r.uint()
	base := r.int()
	for i := uint64(0); i < n && r.err == nil; i++ {
		e := r.entry(base)
		if _, twice := s.index[e.Key]; twice || e.Err > e.Count || e.Count < s.floor {
			r.fail()
			break
		}
		s.push(e)
	}
	s.adds(&r)
	if r.err != nil || len(r.b) > 0 {
		return nil, fmt.Errorf("topk: %w", errDamaged)
	}
	s.makeRoom(0, 0)
	return s, nil
}

// adds reads what comes after the entries.
func (s *Sketch) adds(r *reader) {
	if r.err != nil || len(r.b) == 0 {
		return
	}
	for _, n := range s.heap {
		s.slots[n.slot].Adds = r.uint()
	}
}

var errDamaged = errors.New("the encoded sketch is damaged")

type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() { r.b, r.err = nil, errDamaged }

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.pass(n)
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	r.pass(n)
	return v
}

// pass goes on behind a number of so many bytes. With 0 or less there was none, and its value
// is 0.
func (r *reader) pass(n int) {
	if n <= 0 {
		r.fail()
		return
	}
	r.b = r.b[n:]
}

func (r *reader) text() string {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return ""
	}
	text := string(r.b[:n])
	r.b = r.b[n:]
	return text
}

func (r *reader) entry(base int64) Entry {
	return Entry{
		Key: r.text(), Count: r.uint(), Err: r.uint(), Peak: r.uint(),
		PeakSecond: base + r.int(), Second: base + r.int(), SecondWeight: r.uint(),
	}
}
