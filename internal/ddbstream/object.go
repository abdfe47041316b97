package ddbstream

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// object is a JSON object that is being read, member by member:
//
//	o := s.enter(at)
//	for s.member(&o) {
//		o.at = s.skip(o.at, depth) // or whatever reads the member's value
//	}
//	return o.at
type object struct {
	at    int    // where the member's value begins; in the end, behind the object
	name  []byte // the member's, decoded
	first int    // of the object's names in scanner.names
	names nameSet
}

// span is a name of a member.
type span struct {
	hash       uint64
	start, end int // of the text between its quotes
}

// enter begins an object.
func (s *scanner) enter(at int) object {
	if s.peek(at) != '{' {
		return object{at: s.unexpected(at, "{"), first: len(s.names)}
	}
	return object{at: at + 1, first: len(s.names)}
}

// member moves on to the next member. It is false at the object's end.
func (s *scanner) member(o *object) bool {
	at := s.space(o.at)
	if s.peek(at) == '}' {
		s.leave(o, at+1)
		return false
	}
	if len(s.names) > o.first {
		if s.peek(at) != ',' {
			o.at = s.unexpected(at, ", or }")
			return false
		}
		at = s.space(at + 1)
	}
	if s.peek(at) != '"' {
		o.at = s.unexpected(at, "a name")
		return false
	}
	at = s.space(s.name(o, at+1))
	if s.peek(at) != ':' {
		o.at = s.unexpected(at, ":")
		return false
	}
	o.at = s.space(at + 1)
	return true
}

// name reads a member's name from behind its opening quote, and files it.
func (s *scanner) name(o *object, at int) int {
	start, data, hash := at, s.data, uint64(0)
	for at+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[at:])
		m := special(w)
		if m == 0 {
			hash, at = mix(hash, w), at+8
			continue
		}
		n := bits.TrailingZeros64(m) / 8
		if at += n; data[at] != '"' {
			break
		}
		o.name = data[start:at:at]
		o.names.add(mix(hash, w&(1<<(8*n)-1)))
		s.names = append(s.names, span{mix(hash, w&(1<<(8*n)-1)), start, at})
		return at + 1
	}
	return s.oddName(o, start)
}

// oddName reads a name that has more than plain text in it, or is at the data's end.
func (s *scanner) oddName(o *object, start int) int {
	end, _ := s.text(start)
	if s.err != nil {
		return end
	}
	o.name = unquote(s.data[start-1 : end+1])
	hash := hashName(o.name)
	o.names.add(hash)
	s.names = append(s.names, span{hash, start, end})
	return end + 1
}

// resume goes on with an object behind the value of its first member, whose name
// is the one character at a place.
func (s *scanner) resume(name, at int) object {
	o := object{at: at, first: len(s.names)}
	s.name(&o, name)
	return o
}

// leave ends an object. Whether a name came twice is looked at only now: the names'
// bits nearly always tell that none did.
func (s *scanner) leave(o *object, at int) {
	o.at = at
	if names := s.names[o.first:]; o.names.len() < len(names) {
		if twice, ok := s.twice(names); ok {
			o.at = s.fail(twice.start, fmt.Sprintf("duplicate name %.60q", s.data[twice.start:twice.end]))
		}
	}
	s.names = s.names[:o.first]
}

// few is up to how many names all are compared with all.
const few = 16

// twice returns a name that came before; ok is false if none did.
func (s *scanner) twice(names []span) (twice span, ok bool) {
	if len(names) <= few {
		for i, a := range names {
			for _, b := range names[:i] {
				if a.hash == b.hash && s.compare(a, b) == 0 {
					return a, true
				}
			}
		}
		return twice, false
	}
	slices.SortFunc(names, s.compare)
	for i, a := range names[1:] {
		if s.compare(names[i], a) == 0 {
			return a, true
		}
	}
	return twice, false
}

// compare orders names.
func (s *scanner) compare(a, b span) int {
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	return bytes.Compare(unquote(s.data[a.start-1:a.end+1]), unquote(s.data[b.start-1:b.end+1]))
}

// nameSet has a bit for each name of an object, by the name's hash.
type nameSet uint64

func (n *nameSet) add(hash uint64) { *n |= 1 << (hash >> 58) }

// has is false for a name that is not in the set; it may be true for others.
func (n nameSet) has(hash uint64) bool { return n>>(hash>>58)&1 != 0 }

func (n nameSet) len() int { return bits.OnesCount64(uint64(n)) }

// mix takes eight bytes more into a hash; the factor is 2^64 over the golden ratio.
func mix(hash, w uint64) uint64 { return (hash ^ w) * 0x9e3779b97f4a7c15 }

// hashName is the hash of a whole name: of its words of eight bytes, the last of
// which, perhaps empty, ends in zeros.
func hashName[T string | []byte](name T) uint64 {
	hash := uint64(0)
	for ; len(name) >= 8; name = name[8:] {
		w := uint64(0)
		for i := range 8 {
			w |= uint64(name[i]) << (8 * i)
		}
		hash = mix(hash, w)
	}
	w := uint64(0)
	for i := range len(name) {
		w |= uint64(name[i]) << (8 * i)
	}
	return mix(hash, w)
}
