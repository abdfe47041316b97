package limiter

import "time"

// units are billionths of a capacity unit: a rate in units a second adds a whole
// number of them every nanosecond, so buckets are exact.
type units int64

const unit units = 1e9

func (u units) float() float64 { return float64(u) / float64(unit) }

func toUnits(f float64) units { return units(f*float64(unit) + 0.5) }

// Sizes that one unit pays for, and the least that a read pays, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
const (
	writeBlock  = 1024
	readBlock   = 4096
	eventual    = unit / 2
	transaction = 2 // times the units of the same operation outside
)

// blocks is what an item of a size in bytes costs: a unit for every block begun,
// and one for an item that does not exist.
func blocks(size, block int) units {
	return max(1, units((size+block-1)/block)) * unit
}

// rate is what fills a bucket, and how far.
type rate struct {
	perSecond int64 // whole units
	capacity  units
}

func newRate(perSecond int, burst time.Duration) rate {
	return rate{int64(perSecond), units(int64(perSecond) * int64(burst))}
}

// bucket holds tokens, below zero as a debt.
type bucket struct {
	tokens units
	at     int64 // nanoseconds; when tokens was right
}

// refill brings the bucket up to now. A clock that goes back does nothing.
func (b *bucket) refill(r rate, now int64) {
	elapsed := now - b.at
	if elapsed <= 0 {
		return
	}
	b.at = now
	if elapsed > int64(r.capacity-b.tokens)/r.perSecond {
		b.tokens = r.capacity
		return
	}
	b.tokens += units(elapsed * r.perSecond)
}

// take debits u; a credit is negative and does not overfill the bucket.
func (b *bucket) take(r rate, u units) {
	b.tokens = min(b.tokens-u, r.capacity)
}

// positiveAt is when the bucket will be positive.
func (b *bucket) positiveAt(r rate) int64 {
	if b.tokens > 0 {
		return b.at
	}
	return b.at + int64(-b.tokens)/r.perSecond + 1
}
