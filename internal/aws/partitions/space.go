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

// Space is a set of partitions: those of a table or of a global index.
type Space struct {
	Resource
	gate       *Gate
	partitions []partition // in the order of their ranges, which cover all hashes
	limit      *bucket     // of a table's writes; nil if there is none

	// dryUntil is when the last write bucket becomes positive, in nanoseconds. Before that,
	// some partition may have no capacity left.
	dryUntil int64
}

// NewSpace returns the partitions of a new resource, with full buckets.
func (g *Gate) NewSpace(r Resource) *Space {
	now, n := g.now(), uint64(g.limits.Partitions)
	s := &Space{Resource: r, gate: g}
	if r.Index == "" && g.limits.TableWCU > 0 {
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

// Partitions returns the current number of partitions.
func (s *Space) Partitions() int {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return len(s.partitions)
}

// Place is the place of a partition key.
type Place struct {
	*Space
	Key        string
	Everywhere bool // all partitions, evenly; Key is empty
	hash       uint64
}

// Place returns the place of a key, given as text.
func (s *Space) Place(key string) Place { return Place{Space: s, Key: key, hash: s.gate.hash(key)} }

// Everywhere returns the place that covers all partitions.
func (s *Space) Everywhere() Place { return Place{Space: s, Everywhere: true} }

// ranges returns the partitions of a place.
func (p Place) ranges() []partition {
	if p.Everywhere {
		return p.partitions
	}
	i := p.index(p.hash)
	return p.partitions[i : i+1]
}

// hash returns the first 64 bits of the SHA-256 of the seed, in 8 bytes, and the key.
func (g *Gate) hash(key string) uint64 {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), g.limits.Seed)
	sum := sha256.Sum256(append(text, key...))
	return binary.BigEndian.Uint64(sum[:8])
}

// Partition returns the initial partition, counted from 0, of a partition key in every space.
// The key is a string's text, a number's digits (42, -1, 15e-1), or a binary value in base64.
// Partitions begin as equal ranges of the keys' hashes. Splits are ignored.
func (g *Gate) Partition(key string) int {
	partition, _ := bits.Mul64(g.hash(key), uint64(g.limits.Partitions))
	return int(partition)
}

// Charge is the cost of a request at one place.
type Charge struct {
	Place
	Write bool
	Units Units
}

// Writes returns a charge of write units at a place.
func (p Place) Writes(u Units) Charge { return Charge{p, true, u} }

// Reads returns a charge of read units at a place.
func (p Place) Reads(u Units) Charge { return Charge{p, false, u} }

// Denial is a limit that throttled a request.
type Denial struct {
	Charge
	OfTable bool // the table's limit, not a partition's
}
