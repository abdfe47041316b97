// Package partitions is the model of what DynamoDB's partitions let through: each has a token
// bucket of write units and one of read units, and is split when it has been at its limit for
// long. Beside that it knows which items transactions are at work on. It knows no request and
// no price, and does no input or output.
//
//	gate := partitions.New(partitions.Limits{Partitions: 4, PartitionWCU: 1000, PartitionRCU: 3000, Burst: time.Second, Now: time.Now})
//	orders := gate.NewSpace(partitions.Resource{Table: "orders"})
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

// MaxPartitions is how many partitions a space has at most.
const MaxPartitions = 10_000

// Limits say how much partitions take. All but SplitAfter, TableWCU and Seed must be above 0.
type Limits struct {
	Partitions   int           // that a space begins with, up to MaxPartitions
	PartitionWCU int           // write units a second that a partition takes
	PartitionRCU int           // read units a second
	TableWCU     int           // write units a second of a whole table; 0 is no limit
	Burst        time.Duration // for which a full bucket lasts when nothing refills it
	SplitAfter   time.Duration // at its limit, before a partition splits; 0 is never
	Seed         uint64        // picks one of many placements of keys
	Now          func() time.Time
}

// Gate lets charges through that partitions have room for. It is safe for concurrent use.
type Gate struct {
	limits Limits
	writes rate // of a partition
	reads  rate
	table  rate

	mu sync.Mutex // guards every space
}

// New returns a gate.
func New(l Limits) *Gate {
	return &Gate{
		limits: l,
		writes: newRate(l.PartitionWCU, l.Burst),
		reads:  newRate(l.PartitionRCU, l.Burst),
		table:  newRate(l.TableWCU, l.Burst),
	}
}

func (g *Gate) now() int64 { return g.limits.Now().UnixNano() }

// Admit takes the charges of one request, or says why not.
func (g *Gate) Admit(charges []Charge) []Denial {
	return g.AdmitAll([][]Charge{charges})[0]
}

// AdmitAll takes all charges if every one of them is admitted, and nothing
// otherwise. It answers group by group; no denial at all is admission.
func (g *Gate) AdmitAll(groups [][]Charge) [][]Denial {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	denied := make([][]Denial, len(groups))
	admitted := true
	for i, group := range groups {
		for _, c := range group {
			denied[i] = append(denied[i], g.check(c, now)...)
		}
		admitted = admitted && denied[i] == nil
	}
	if admitted {
		for _, c := range slices.Concat(groups...) {
			g.take(c, c.Units, now)
		}
	}
	return denied
}

// Settle replaces what was taken at admission by the true charges.
func (g *Gate) Settle(taken, charges []Charge) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	for _, c := range taken {
		g.take(c, -c.Units, now)
	}
	for _, c := range charges {
		g.take(c, c.Units, now)
	}
}

// check returns the limits that a charge meets. A partition that meets its own for
// long enough splits.
func (g *Gate) check(c Charge, now int64) []Denial {
	over, r := c.over(), g.rate(c)
	each := Units(len(over))
	var mean Units
	for i := range over {
		b := over[i].lane(c.Write)
		b.refill(r, now)
		mean += b.tokens / each
	}
	var denied []Denial
	if mean <= 0 {
		denied = append(denied, Denial{c, false})
	}
	if !c.Everywhere && over[0].lane(c.Write).met(c.hash, mean <= 0, now, g.limits.SplitAfter) {
		c.split(c.hash, now)
	}
	if c.Write && c.limit != nil {
		c.limit.refill(g.table, now)
		if c.limit.tokens <= 0 {
			denied = append(denied, Denial{c, true})
		}
	}
	return denied
}

// take debits u of a charge, or credits it when u is negative.
func (g *Gate) take(c Charge, u Units, now int64) {
	over, r := c.over(), g.rate(c)
	each := Units(len(over))
	for i := range over {
		b := over[i].lane(c.Write)
		b.refill(r, now)
		b.take(r, u/each)
		if c.Write {
			c.dryUntil = max(c.dryUntil, b.positiveAt(r))
		}
	}
	if c.Write && c.limit != nil {
		c.limit.refill(g.table, now)
		c.limit.take(g.table, u)
	}
}

// rate is what fills the buckets that a charge is for.
func (g *Gate) rate(c Charge) rate {
	if c.Write {
		return g.writes
	}
	return g.reads
}

// Dry tells whether a partition of one of the spaces may be out of write
// capacity.
func (g *Gate) Dry(spaces []*Space) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	return slices.ContainsFunc(spaces, func(s *Space) bool { return now < s.dryUntil })
}
