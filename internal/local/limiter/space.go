package limiter

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
)

// space is what has partitions of its own: a table, or a global index.
type space struct {
	tableName  string
	indexName  string // "" for the table itself
	arn        string
	onDemand   bool
	partitions []partition // in the order of their ranges, which cover all hashes
	limit      *bucket     // of a table's writes; nil for none

	// dryUntil is when the last of the write buckets is positive again, in
	// nanoseconds. Before that, some partition may be out of capacity.
	dryUntil int64
}

func (l *Limiter) newSpace(of space) *space {
	now, n := l.now(), uint64(l.options.Partitions)
	for i := range n {
		low, rest := bits.Div64(i, 0, n)
		if rest > 0 {
			low++ // the first hash that Partition maps to i
		}
		of.partitions = append(of.partitions, partition{
			low:    low,
			writes: lane{bucket: bucket{l.writeRate.capacity, now}},
			reads:  lane{bucket: bucket{l.readRate.capacity, now}},
		})
	}
	return &of
}

// place is where a partition key is.
type place struct {
	*space
	key        string
	hash       uint64
	everywhere bool // on all partitions evenly; there is no key then
}

func (l *Limiter) place(s *space, key string) place {
	return place{space: s, key: key, hash: l.hash(key)}
}

func everywhere(s *space) place { return place{space: s, everywhere: true} }

// hash is the first 64 bits of the SHA-256 of the seed, in 8 bytes, and the key.
func (l *Limiter) hash(key string) uint64 {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), l.options.Seed)
	sum := sha256.Sum256(append(text, key...))
	return binary.BigEndian.Uint64(sum[:8])
}

// Partition returns the partition, counted from 0, that a partition key begins on
// in every table and index: key is a string's text, a number's digits (42, -1,
// 15e-1), or a binary value in base64. The key's hash says which: partitions begin
// as equal ranges of hashes. It does not follow splits.
func (l *Limiter) Partition(key string) int {
	partition, _ := bits.Mul64(l.hash(key), uint64(l.options.Partitions))
	return int(partition)
}

// charge is what a request costs at one place.
type charge struct {
	place
	write bool
	units units
}

// denial says which limit a request met.
type denial struct {
	charge
	ofTable bool // the table's limit, not a partition's
}

// admit takes the charges of one request, or says why not.
func (l *Limiter) admit(charges []charge) []denial {
	return l.admitAll([][]charge{charges})[0]
}

// admitAll takes all charges if every one of them is admitted, and nothing
// otherwise. It answers group by group; no denial at all is admission.
func (l *Limiter) admitAll(groups [][]charge) [][]denial {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	denied := make([][]denial, len(groups))
	admitted := true
	for i, group := range groups {
		for _, c := range group {
			denied[i] = append(denied[i], l.check(c, now)...)
		}
		admitted = admitted && denied[i] == nil
	}
	if admitted {
		for _, c := range slices.Concat(groups...) {
			l.take(c, c.units, now)
		}
	}
	return denied
}

// settle replaces what was taken at admission by the true charges, and counts
// those.
func (l *Limiter) settle(operation string, taken, charges []charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, c := range taken {
		l.take(c, -c.units, now)
	}
	for _, c := range charges {
		l.take(c, c.units, now)
		l.stats.charged(operation, c)
	}
}

// check returns the limits that a charge meets. A partition that meets its own for
// long enough splits.
func (l *Limiter) check(c charge, now int64) []denial {
	over, r := c.over(), l.rate(c)
	each := units(len(over))
	var mean units
	for i := range over {
		b := over[i].lane(c.write)
		b.refill(r, now)
		mean += b.tokens / each
	}
	var denied []denial
	if mean <= 0 {
		denied = append(denied, denial{c, false})
	}
	if !c.everywhere && over[0].lane(c.write).met(c.hash, mean <= 0, now, l.options.SplitAfter) {
		l.split(c.space, c.hash, now)
	}
	if c.write && c.limit != nil {
		c.limit.refill(l.tableRate, now)
		if c.limit.tokens <= 0 {
			denied = append(denied, denial{c, true})
		}
	}
	return denied
}

// take debits u of a charge, or credits it when u is negative.
func (l *Limiter) take(c charge, u units, now int64) {
	over, r := c.over(), l.rate(c)
	each := units(len(over))
	for i := range over {
		b := over[i].lane(c.write)
		b.refill(r, now)
		b.take(r, u/each)
		if c.write {
			c.dryUntil = max(c.dryUntil, b.positiveAt(r))
		}
	}
	if c.write && c.limit != nil {
		c.limit.refill(l.tableRate, now)
		c.limit.take(l.tableRate, u)
	}
}

// over are the partitions that a charge is for.
func (p place) over() []partition {
	if p.everywhere {
		return p.partitions
	}
	i := p.at(p.hash)
	return p.partitions[i : i+1]
}

// rate is what fills the buckets that a charge is for.
func (l *Limiter) rate(c charge) rate {
	if c.write {
		return l.writeRate
	}
	return l.readRate
}

// dry tells whether a partition of one of the spaces may be out of write
// capacity.
func (l *Limiter) dry(spaces []*space) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	return slices.ContainsFunc(spaces, func(s *space) bool { return now < s.dryUntil })
}
