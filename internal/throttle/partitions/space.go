package partitions

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"time"
)

// Resource is a table, or one of its global indexes.
type Resource struct {
	Table    string
	Index    string // "" for the table itself
	ARN      string
	OnDemand bool // the table's billing mode
}

// Cause is a kind of limit, by the end of AWS's throttling reason: KeyRangeThroughputExceeded in
// TableWriteKeyRangeThroughputExceeded.
type Cause string

// The causes. KeyRange is a partition's limit; the others limit a whole table or index.
const (
	KeyRange    Cause = "KeyRangeThroughputExceeded"
	Provisioned Cause = "ProvisionedThroughputExceeded"
	MaxOnDemand Cause = "MaxOnDemandThroughputExceeded"
	Account     Cause = "AccountLimitExceeded"
)

// Throughput has the limits of a whole table or index, in addition to its partitions' limits.
type Throughput struct{ Reads, Writes Limit }

// Limit is a number of units a second, with the cause of its throttles. The zero value is no limit.
type Limit struct {
	Cause     Cause
	PerSecond int
	Burst     time.Duration // time for which unused throughput is saved; less than a second is a second
}

// limit is the bucket of a Limit.
type limit struct {
	bucket
	rate
	cause Cause
}

// newLimit returns the bucket of a Limit, or nil for no limit. The bucket begins with one second's tokens.
func newLimit(l Limit, now int64) *limit {
	if l.PerSecond == 0 {
		return nil
	}
	return &limit{bucket{newRate(l.PerSecond, time.Second).capacity, now}, newRate(l.PerSecond, max(l.Burst, time.Second)), l.Cause}
}

// Space has the partitions of a table or of a global index.
type Space struct {
	Resource
	gate       *Gate
	partitions []partition // in the order of their ranges, which cover all hashes
	reads      *limit      // of the whole space; nil if there is none
	writes     *limit

	// dryUntil is when the last write bucket becomes positive, in Unix nanoseconds. Before that time a
	// partition, or the space, may have no write capacity left.
	dryUntil int64
}

// limit returns the limit of the whole space's reads or writes, or nil if there is none.
func (s *Space) limit(write bool) *limit {
	if write {
		return s.writes
	}
	return s.reads
}

// NewSpace returns the partitions of a new resource: Limits.Partitions, or more if its provisioned throughput needs
// more. Each bucket has one second's tokens.
func (g *Gate) NewSpace(resource Resource, throughput Throughput) *Space {
	now := g.now()
	count := uint64(g.partitionCount(throughput))
	s := &Space{
		Resource: resource, gate: g, reads: newLimit(throughput.Reads, now), writes: newLimit(throughput.Writes, now),
	}
	for i := range count {
		low, rest := bits.Div64(i, 0, count) // i/count of all hashes
		if rest > 0 {
			low++ // the first hash in the range
		}
		s.partitions = append(s.partitions, partition{
			low:    low,
			writes: lane{bucket: bucket{g.writes.capacity, now}},
			reads:  lane{bucket: bucket{g.reads.capacity, now}},
		})
	}
	return s
}

// partitionCount returns the number of a new space's partitions.
func (g *Gate) partitionCount(t Throughput) int {
	n := g.limits.Partitions
	if t.Reads.Cause == Provisioned {
		n = max(n, (t.Reads.PerSecond+g.limits.PartitionRCU-1)/g.limits.PartitionRCU)
	}
	if t.Writes.Cause == Provisioned {
		n = max(n, (t.Writes.PerSecond+g.limits.PartitionWCU-1)/g.limits.PartitionWCU)
	}
	return min(n, MaxPartitions)
}

// Partitions returns the current number of partitions.
func (s *Space) Partitions() int {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return len(s.partitions)
}

// Place is where a request reads or writes: at the items of a partition key, or everywhere.
type Place struct {
	*Space
	Key        string // the partition key
	Everywhere bool   // the place covers all partitions evenly; Key is empty
	hash       uint64
}

// Place returns the place of the items of a partition key, given as text.
func (s *Space) Place(key string) Place { return Place{Space: s, Key: key, hash: s.gate.hash(key)} }

// Everywhere returns the place that covers all partitions.
func (s *Space) Everywhere() Place { return Place{Space: s, Everywhere: true} }

// coveredPartitions returns the partition of a place, or all partitions.
func (p Place) coveredPartitions() []partition {
	if p.Everywhere {
		return p.partitions
	}
	i := p.partitionIndex(p.hash)
	return p.partitions[i : i+1]
}

// hash returns the first 64 bits of the SHA-256 of the seed, in 8 bytes, and the key.
func (g *Gate) hash(key string) uint64 {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), g.limits.Seed)
	sum := sha256.Sum256(append(text, key...))
	return binary.BigEndian.Uint64(sum[:8])
}

// Partition returns the partition, counted from 0, in which a partition key begins. At first, the Limits.Partitions
// partitions of a space are equal ranges of hashes; later splits are ignored. The key is a string as it is, a number
// without zeros that its value doesn't need (42, -1, 1.5), or a binary value in base64.
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
	Cause Cause
}
