package partitions

import "time"

// Units are billionths of a capacity unit. A rate in capacity units a second adds a whole number of Units every
// nanosecond, so buckets are exact.
type Units int64

// Unit is one capacity unit.
const Unit Units = 1e9

// Float returns the number of capacity units.
func (u Units) Float() float64 { return float64(u) / float64(Unit) }

// maxUnits is more capacity units than any call consumes.
const maxUnits = 1e6

// ToUnits returns capacity units rounded to a billionth, 0 to maxUnits.
func ToUnits(f float64) Units { return Units(min(max(f, 0), maxUnits)*float64(Unit) + 0.5) }

// rate is a bucket's refill rate and capacity.
type rate struct {
	perSecond int64 // capacity units
	capacity  Units
}

func newRate(perSecond int, burst time.Duration) rate {
	return rate{int64(perSecond), Units(int64(perSecond) * int64(burst))}
}

// bucket holds tokens; a debt is negative.
type bucket struct {
	tokens   Units
	refilled int64 // the time for which tokens is valid, in nanoseconds
}

// refill adds the tokens up to now. A clock that goes back adds none.
func (b *bucket) refill(r rate, now int64) {
	elapsed := now - b.refilled
	if elapsed <= 0 {
		return
	}
	b.refilled = now
	if elapsed > int64(r.capacity-b.tokens)/r.perSecond {
		b.tokens = r.capacity
		return
	}
	b.tokens += Units(elapsed * r.perSecond)
}

// debit removes u tokens. A negative u adds tokens, up to the bucket's capacity.
func (b *bucket) debit(r rate, u Units) {
	b.tokens = min(b.tokens-u, r.capacity)
}

// positiveAt returns when the bucket will be positive, in nanoseconds, if nothing is debited.
func (b *bucket) positiveAt(r rate) int64 {
	if b.tokens > 0 {
		return b.refilled
	}
	return b.refilled + int64(-b.tokens)/r.perSecond + 1
}
