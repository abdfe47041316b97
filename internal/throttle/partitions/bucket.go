package partitions

import "time"

// Units are billionths of a capacity unit. A rate in units a second adds a whole number of them
// every nanosecond, so buckets are exact.
type Units int64

// Unit is one capacity unit.
const Unit Units = 1e9

// Float returns the number of capacity units.
func (u Units) Float() float64 { return float64(u) / float64(Unit) }

// maxUnits is more than any call consumes.
const maxUnits = 1e6

// ToUnits returns capacity units rounded to a billionth, 0 to maxUnits.
func ToUnits(f float64) Units { return Units(min(max(f, 0), maxUnits)*float64(Unit) + 0.5) }

// rate is a bucket's refill rate and capacity.
type rate struct {
	perSecond int64 // whole units
	capacity  Units
}

func newRate(perSecond int, burst time.Duration) rate {
	return rate{int64(perSecond), Units(int64(perSecond) * int64(burst))}
}

// bucket holds tokens; a debt is negative.
type bucket struct {
	tokens Units
	at     int64 // nanoseconds; the time of tokens
}

// meterSpan is the time over which a meter averages.
const meterSpan = 10 * time.Second

// meter measures the units used a second, averaged over about meterSpan.
type meter struct {
	span      int64 // number of the current span
	now, last Units // used in the current span and in the one before
}

func (m *meter) advance(now int64) {
	switch span := now / int64(meterSpan); {
	case span == m.span+1:
		m.span, m.now, m.last = span, 0, m.now
	case span > m.span:
		m.span, m.now, m.last = span, 0, 0
	}
}

func (m *meter) add(u Units, now int64) {
	m.advance(now)
	m.now += u
}

// perSecond returns the rate. The span before counts by the share of it that meterSpan covers.
func (m *meter) perSecond(now int64) float64 {
	m.advance(now)
	rest := 1 - float64(now%int64(meterSpan))/float64(meterSpan)
	return max(0, m.now.Float()+rest*m.last.Float()) / meterSpan.Seconds()
}

// refill adds the tokens up to now. A clock that goes back adds none.
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
	b.tokens += Units(elapsed * r.perSecond)
}

// debit takes u tokens. A negative u is a credit, which does not overfill the bucket.
func (b *bucket) debit(r rate, u Units) {
	b.tokens = min(b.tokens-u, r.capacity)
}

// positiveAt returns when the bucket will be positive.
func (b *bucket) positiveAt(r rate) int64 {
	if b.tokens > 0 {
		return b.at
	}
	return b.at + int64(-b.tokens)/r.perSecond + 1
}
