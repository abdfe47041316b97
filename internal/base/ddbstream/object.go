package ddbstream

import (
	"encoding/binary"
	"math/bits"
)

// object iterates over the members of a JSON object:
//
//	o := s.enter(at)
//	for s.member(&o) {
//		o.at = s.skip(o.at, depth) // or whatever reads the member's value
//	}
//	return o.at
type object struct {
	start int     // of the object
	at    int     // start of the member's value; after the last member, the end of the object
	name  []byte  // the member's, decoded
	names nameSet // so far
}

func (s *scanner) enter(at int) object {
	if s.peek(at) != '{' {
		at = s.unexpected(at, "{")
	}
	return object{start: at, at: at}
}

// member moves to the next member. It returns false at the object's end.
func (s *scanner) member(o *object) bool {
	data, at := s.data, o.at
	if at+1 < len(data) && data[at+1] == '"' && (data[at] == ',' || at == o.start) {
		at += 2
	} else if at = s.nextMember(o); at < 0 {
		return false
	}
	at = s.name(o, at)
	if at+1 < len(data) && data[at] == ':' && data[at+1] > ' ' {
		o.at = at + 1
		return true
	}
	if at = s.space(at); s.peek(at) != ':' {
		o.at = s.unexpected(at, ":")
		return false
	}
	o.at = s.space(at + 1)
	return true
}

// nextMember returns the position of the next member's name, after its quote. It ends the object and
// returns -1 if there is no next member.
func (s *scanner) nextMember(o *object) int {
	at := o.at
	if at == o.start {
		at++ // its brace
	}
	at = s.space(at)
	if s.peek(at) == '}' {
		o.at = at + 1
		return -1
	}
	if o.at != o.start {
		if s.peek(at) != ',' {
			o.at = s.unexpected(at, ", or }")
			return -1
		}
		at = s.space(at + 1)
	}
	if s.peek(at) != '"' {
		o.at = s.unexpected(at, "a name")
		return -1
	}
	return at + 1
}

// name reads a member's name, which begins at a position, and adds it to the names.
func (s *scanner) name(o *object, at int) int {
	start, data, hash := at, s.data, uint64(0)
	for ; at+8 <= len(data); at += 8 {
		w := binary.LittleEndian.Uint64(data[at:])
		m := special(w)
		if m == 0 {
			hash = mix(hash, w)
			continue
		}
		at += bits.TrailingZeros64(m) / 8
		if data[at] != '"' {
			break
		}
		o.name = data[start:at:at]
		hash = mix(hash, w&((m&-m-1)>>7)) // the bytes before the quote
		o.names.add(hash)
		return at + 1
	}
	return s.oddName(o, start)
}

// oddName reads a name that is not plain text or ends near the end of the data.
func (s *scanner) oddName(o *object, start int) int {
	end, _ := s.text(start)
	if s.err != nil {
		return end
	}
	o.name = unquote(s.data[start-1 : end+1])
	o.names.add(hashName(o.name))
	return end + 1
}

// nameSet is a Bloom filter with two bits for each name of an object.
type nameSet [2]uint64

func (n *nameSet) add(hash uint64) {
	n[0] |= 1 << (hash >> 58)
	n[1] |= 1 << (hash >> 52 & 63)
}

// has returns false for a name that is not in the set, with rare false positives.
func (n *nameSet) has(hash uint64) bool {
	return n[0]>>(hash>>58)&(n[1]>>(hash>>52&63))&1 != 0
}

// mix adds eight bytes to a hash; the factor is 2^64 over the golden ratio.
func mix(hash, w uint64) uint64 { return (hash ^ w) * 0x9e3779b97f4a7c15 }

// hashName returns the hash of a whole name, in words of eight bytes. The last word, which may
// be empty, is padded with zeros.
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
