// Package partitions models the throughput of DynamoDB's partitions. Each has a token bucket for write units and one
// for read units. It splits after it was at its limit for some time. The package also tracks items held by
// transactions. It has no requests or prices, and does no I/O.
//
//	gate := partitions.New(partitions.Limits{Partitions: 4, PartitionWCU: 1000, PartitionRCU: 3000, Now: time.Now})
//	orders := gate.NewSpace(partitions.Resource{Table: "orders"}, partitions.Throughput{})
//	least := []partitions.Charge{orders.Place("customer-7").Writes(partitions.Unit)}
//	if denied := gate.Admit(least); denied == nil {
//		...
//		gate.Settle(least, charges)
//	}
package partitions

import (
	"slices"
	"sync"
	"time"
)

// MaxPartitions is the most partitions of a space.
const MaxPartitions = 10_000

// Limits are the partitions' limits. All numbers but SplitAfter and Seed must be above 0. A partition saves one second
// of unused throughput.
type Limits struct {
	Partitions   int           // initial number of a space, up to MaxPartitions
	PartitionWCU int           // write units a second of a partition
	PartitionRCU int           // read units a second of a partition
	SplitAfter   time.Duration // time at its limit before a partition splits; 0 is never
	Seed         uint64        // selects one of many placements of keys
	Now          func() time.Time
}

// Gate admits charges while partitions have capacity. It is safe for concurrent use.
type Gate struct {
	limits Limits
	writes rate // of a partition
	reads  rate

	mu sync.Mutex // guards all spaces
}

// New returns a gate without spaces.
func New(l Limits) *Gate {
	return &Gate{
		limits: l,
		writes: newRate(l.PartitionWCU, time.Second),
		reads:  newRate(l.PartitionRCU, time.Second),
	}
}

func (g *Gate) now() int64 { return g.limits.Now().UnixNano() }

// Admit debits the charges of one request and returns nil, or returns the limits that deny it.
func (g *Gate) Admit(charges []Charge) []Denial {
	return slices.Concat(g.AdmitAll([][]Charge{charges})...)
}

// AdmitAll debits the charges of all groups and returns nil if no charge is denied. Otherwise it debits nothing, and
// returns the denials of each group.
func (g *Gate) AdmitAll(groups [][]Charge) [][]Denial {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	denied := make([][]Denial, len(groups))
	admitted := true
	for i, group := range groups {
		for _, c := range group {
			denied[i] = append(denied[i], g.denials(c, now)...)
		}
		admitted = admitted && denied[i] == nil
	}
	if !admitted {
		return denied
	}
	for _, c := range slices.Concat(groups...) {
		g.debit(c, c.Units, now)
	}
	return nil
}

// Settle replaces the charges debited at admission by the actual charges.
func (g *Gate) Settle(reserved, actual []Charge) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	for _, c := range reserved {
		g.debit(c, -c.Units, now)
	}
	for _, c := range actual {
		g.debit(c, c.Units, now)
	}
}

// denials returns the limits that deny a charge. It records the request, and may split its partition by load.
func (g *Gate) denials(c Charge, now int64) []Denial {
	partitions, r := c.coveredPartitions(), g.rate(c)
	var mean Units // of the covered partitions' tokens
	for i := range partitions {
		b := partitions[i].lane(c.Write)
		b.refill(r, now)
		mean += b.tokens / Units(len(partitions))
	}
	var denied []Denial
	if mean <= 0 {
		denied = append(denied, Denial{c, KeyRange})
	}
	if !c.Everywhere {
		n := partitions[0].lane(c.Write)
		if n.observe(c.hash, mean <= 0, now, g.limits.SplitAfter) {
			c.splitByLoad(c.hash, n, now)
		}
	}
	if spaceLimit := c.limit(c.Write); spaceLimit != nil {
		spaceLimit.refill(spaceLimit.rate, now)
		if spaceLimit.tokens <= 0 {
			denied = append(denied, Denial{c, spaceLimit.cause})
		}
	}
	return denied
}

// debit debits u from a charge's buckets: its partitions', in equal shares, and the space's. A negative u adds tokens.
func (g *Gate) debit(c Charge, u Units, now int64) {
	partitions, r := c.coveredPartitions(), g.rate(c)
	for i := range partitions {
		b := partitions[i].lane(c.Write)
		b.refill(r, now)
		b.debit(r, u/Units(len(partitions)))
		if c.Write {
			c.dryUntil = max(c.dryUntil, b.positiveAt(r))
		}
	}
	if spaceLimit := c.limit(c.Write); spaceLimit != nil {
		spaceLimit.refill(spaceLimit.rate, now)
		spaceLimit.debit(spaceLimit.rate, u)
		if c.Write {
			c.dryUntil = max(c.dryUntil, spaceLimit.positiveAt(spaceLimit.rate))
		}
	}
}

// rate returns the refill rate of the buckets that a charge debits.
func (g *Gate) rate(c Charge) rate {
	if c.Write {
		return g.writes
	}
	return g.reads
}

// Dry reports whether one of the spaces, or one of their partitions, may have no write capacity left.
func (g *Gate) Dry(spaces []*Space) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	return slices.ContainsFunc(spaces, func(s *Space) bool { return now < s.dryUntil })
}
