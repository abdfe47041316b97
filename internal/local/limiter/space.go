package limiter

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
)

// space is what has partitions of its own: a table, or a global index.
type space struct {
	tableName string
	indexName string // "" for the table itself
	arn       string
	onDemand  bool
	writes    []bucket
	reads     []bucket
	limit     *bucket // of a table's writes; nil for none

	// dryUntil is when the last of the write buckets is positive again, in
	// nanoseconds. Before that, some partition may be out of capacity.
	dryUntil int64
}

func (l *Limiter) newSpace(of space) *space {
	now := l.now()
	full := func(r rate) []bucket {
		return slices.Repeat([]bucket{{r.capacity, now}}, l.options.Partitions)
	}
	of.writes, of.reads = full(l.writeRate), full(l.readRate)
	return &of
}

// place is where a partition key is.
type place struct {
	*space
	key       string
	partition int // everywhere for all of them evenly
}

const everywhere = -1

func (l *Limiter) place(s *space, key string) place { return place{s, key, l.Partition(key)} }

// Partition returns the partition, counted from 0, that a partition key is on in
// every table and index: key is a string's text, a number's digits (42, -1,
// 15e-1), or a binary value in base64. It is the key's SHA-256, after the seed in
// 8 bytes, whose first 64 bits are divided into equal ranges.
func (l *Limiter) Partition(key string) int {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), l.options.Seed)
	sum := sha256.Sum256(append(text, key...))
	partition, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:8]), uint64(l.options.Partitions))
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

// check returns the limits that a charge meets.
func (l *Limiter) check(c charge, now int64) []denial {
	buckets, r := l.buckets(c)
	each := units(len(buckets))
	var mean units
	for i := range buckets {
		buckets[i].refill(r, now)
		mean += buckets[i].tokens / each
	}
	var denied []denial
	if mean <= 0 {
		denied = append(denied, denial{c, false})
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
	buckets, r := l.buckets(c)
	each := units(len(buckets))
	for i := range buckets {
		b := &buckets[i]
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

// buckets are the ones that a charge is for, and what fills them.
func (l *Limiter) buckets(c charge) ([]bucket, rate) {
	buckets, r := c.reads, l.readRate
	if c.write {
		buckets, r = c.writes, l.writeRate
	}
	if c.partition == everywhere {
		return buckets, r
	}
	return buckets[c.partition : c.partition+1], r
}

// dry tells whether a partition of one of the spaces may be out of write
// capacity.
func (l *Limiter) dry(spaces []*space) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	return slices.ContainsFunc(spaces, func(s *space) bool { return now < s.dryUntil })
}
