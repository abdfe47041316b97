package partitions

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Resource is a table, or one of its global indexes.
type Resource struct {
	Table    string
	Index    string // "" for the table itself
	ARN      string
	OnDemand bool
}

// Space is what has partitions of its own: a table, or a global index.
type Space struct {
	Resource
	gate       *Gate
	partitions []partition // in the order of their ranges, which cover all hashes
	limit      *bucket     // of a table's writes; nil for none

	// dryUntil is when the last of the write buckets is positive again, in
	// nanoseconds. Before that, some partition may be out of capacity.
	dryUntil int64
}

// NewSpace returns the partitions of a resource that is new, with full buckets.
func (g *Gate) NewSpace(of Resource) *Space {
	now, n := g.now(), uint64(g.limits.Partitions)
	s := &Space{Resource: of, gate: g}
	if of.Index == "" && g.limits.TableWCU > 0 {
		s.limit = &bucket{g.table.capacity, now}
	}
	for i := range n {
		low, rest := bits.Div64(i, 0, n)
		if rest > 0 {
			low++ // the first hash that Partition maps to i
		}
		s.partitions = append(s.partitions, partition{
			low:    low,
			writes: lane{bucket: bucket{g.writes.capacity, now}},
			reads:  lane{bucket: bucket{g.reads.capacity, now}},
		})
	}
	return s
}

// Partitions tells how many partitions there are now.
func (s *Space) Partitions() int {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return len(s.partitions)
}

// Place is where a partition key is.
type Place struct {
	*Space
	Key        string
	Everywhere bool // on all partitions evenly; there is no key then
	hash       uint64
}

// Place is where a key is, as text.
func (s *Space) Place(key string) Place { return Place{Space: s, Key: key, hash: s.gate.hash(key)} }

// Everywhere is a place on all partitions.
func (s *Space) Everywhere() Place { return Place{Space: s, Everywhere: true} }

// over are the partitions that a place is on.
func (p Place) over() []partition {
	if p.Everywhere {
		return p.partitions
	}
	i := p.at(p.hash)
	return p.partitions[i : i+1]
}

// hash is the first 64 bits of the SHA-256 of the seed, in 8 bytes, and the key.
func (g *Gate) hash(key string) uint64 {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), g.limits.Seed)
	sum := sha256.Sum256(append(text, key...))
	return binary.BigEndian.Uint64(sum[:8])
}

// Partition returns the partition, counted from 0, that a partition key begins on
// in every space: key is a string's text, a number's digits (42, -1,
// 15e-1), or a binary value in base64. The key's hash says which: partitions begin
// as equal ranges of hashes. It does not follow splits.
func (g *Gate) Partition(key string) int {
	partition, _ := bits.Mul64(g.hash(key), uint64(g.limits.Partitions))
	return int(partition)
}

// Charge is what a request costs at one place.
type Charge struct {
	Place
	Write bool
	Units Units
}

// Writes is a charge of write units at a place.
func (p Place) Writes(u Units) Charge { return Charge{p, true, u} }

// Reads is a charge of read units at a place.
func (p Place) Reads(u Units) Charge { return Charge{p, false, u} }

// Denial says which limit a request met.
type Denial struct {
	Charge
	OfTable bool // the table's limit, not a partition's
}
