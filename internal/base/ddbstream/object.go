package ddbstream

import (
	"encoding/binary"
	"math/bits"
)

// object iterates over the members of a JSON object:
//
//	o := s.enterObject(at)
//	for s.member(&o) {
//		o.at = s.skip(o.at, depth) // or whatever reads the member's value
//	}
//	return o.at
type object struct {
	start int     // of the object
	at    int     // start of the member's value; after the last member, the end of the object
	name  []byte  // the member's, decoded
	names nameSet // of the members that were read
}

func (s *scanner) enterObject(at int) object {
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
	} else if at = s.nextName(o); at < 0 {
		return false
	}
	at = s.readName(o, at)
	if at+1 < len(data) && data[at] == ':' && data[at+1] > ' ' {
		o.at = at + 1
		return true
	}
	if at = s.skipSpace(at); s.peek(at) != ':' {
		o.at = s.unexpected(at, ":")
		return false
	}
	o.at = s.skipSpace(at + 1)
	return true
}

// nextName returns the position of the next member's name, after its quote. If there is no next member, it sets o.at to
// the object's end and returns -1.
func (s *scanner) nextName(o *object) int {
	at := o.at
	if at == o.start {
		at++ // its brace
	}
	at = s.skipSpace(at)
	if s.peek(at) == '}' {
		o.at = at + 1
		return -1
	}
	if o.at != o.start {
		if s.peek(at) != ',' {
			o.at = s.unexpected(at, ", or }")
			return -1
		}
		at = s.skipSpace(at + 1)
	}
	if s.peek(at) != '"' {
		o.at = s.unexpected(at, "a name")
		return -1
	}
	return at + 1
}

// readName reads a member's name into o. at is the position after the opening quote.
func (s *scanner) readName(o *object, at int) int {
	start, data, hash := at, s.data, uint64(0)
	for ; at+8 <= len(data); at += 8 {
		w := binary.LittleEndian.Uint64(data[at:])
		m := markSpecial(w)
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
	return s.readOddName(o, start)
}

// readOddName is readName for a name that is not plain text or ends near the end of the data.
func (s *scanner) readOddName(o *object, start int) int {
	end, _ := s.scanText(start)
	if s.err != nil {
		return end
	}
	o.name = unquote(s.data[start-1 : end+1])
	o.names.add(hashName(o.name))
	return end + 1
}

// nameSet is a Bloom filter of an object's names, with one bit in each word for each name.
type nameSet [2]uint64

func (n *nameSet) add(hash uint64) {
	n[0] |= 1 << (hash >> 58)
	n[1] |= 1 << (hash >> 52 & 63)
}

// has returns false for a name that is not in the set, with rare false positives.
func (n *nameSet) has(hash uint64) bool {
	first, second := n[0]>>(hash>>58), n[1]>>(hash>>52&63)
	return first&second&1 != 0
}

// mix returns a hash with eight more bytes. The factor is 2^64 divided by the golden ratio.
func mix(hash, bytes uint64) uint64 { return (hash ^ bytes) * 0x9e3779b97f4a7c15 }

// hashName returns the hash of a whole name. Its words have eight bytes; the last one, which may be empty, is padded with
// zeros.
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
