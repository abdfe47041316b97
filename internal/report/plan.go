package report

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Plan says which seconds of a time are read. The time is cut into strata of equal length,
// and of each one second is read. Which one is drawn for each stream shard, and is the same in
// all its strata: so nothing that lasts for longer than a stratum goes unseen.
type Plan struct {
	From    time.Time // a whole second
	Strata  int
	Stratum time.Duration // whole seconds
	Seed    uint64        // the same seed draws the same seconds
}

// Bounds of a plan.
const (
	MinShare  = 0.0005
	maxStrata = 100_000
)

// NewPlan cuts the time before to, of at most this length, into whole strata, of which a share
// is read: 0.0005 to 1. There is one stratum at least.
func NewPlan(to time.Time, since time.Duration, share float64, seed uint64) (Plan, error) {
	if !(share >= MinShare && share <= 1) {
		return Plan{}, fmt.Errorf("a share of %v of the stream: want %v to 1", share, MinShare)
	}
	p := Plan{Stratum: time.Duration(math.Round(1/share)) * time.Second, Seed: seed}
	p.Strata = max(1, int(since/p.Stratum))
	if p.Strata < 1 || p.Strata > maxStrata {
		return Plan{}, fmt.Errorf("%v of the stream in strata of %v: want 1 to %d strata", since, p.Stratum, maxStrata)
	}
	p.From = to.Truncate(time.Second).Add(-time.Duration(p.Strata) * p.Stratum)
	return p, nil
}

// To is the end of the time.
func (p Plan) To() time.Time { return p.Begin(p.Strata) }

// Begin is when a stratum begins.
func (p Plan) Begin(stratum int) time.Time { return p.From.Add(time.Duration(stratum) * p.Stratum) }

// Of is the stratum that an instant is in.
func (p Plan) Of(t time.Time) int { return int(t.Sub(p.From) / p.Stratum) }

// Second is the one that is read of a stratum, on a stream shard.
func (p Plan) Second(streamShard string, stratum int) time.Time {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", p.Seed, streamShard))
	n := binary.BigEndian.Uint64(sum[:]) % uint64(p.Stratum/time.Second)
	return p.Begin(stratum).Add(time.Duration(n) * time.Second)
}

// columns is how many strata make a column of the matrix, so that it has at most so many.
func (p Plan) columns(most int) (strata int) {
	for _, n := range []int{1, 3, 6, 12, 36, 72} {
		if (p.Strata+n-1)/n <= most {
			return n
		}
	}
	return (p.Strata + most - 1) / most
}

// Slice is what was read of a stratum on one stream shard: one second, or all of it.
type Slice struct {
	StreamShard string
	Stratum     int
	Whole       bool
	Records     int
	Units       uint64
	Keys        map[string]Tally // by partition key
}

// Tally is what a partition key got.
type Tally struct {
	Units  uint64
	Writes int

	// Fresh is how many of the writes made an item, and Rising how many of these had a
	// greater sort key than the one made before.
	Fresh, Rising int
}

// rises tells whether the key's new items come in the order of their sort keys.
func (t Tally) rises() bool {
	const enough, most = 20, 0.9
	return t.Fresh >= enough && float64(t.Rising) >= most*float64(t.Fresh-1) && 2*t.Fresh >= t.Writes
}

// seconds is how long the slice is.
func (s *Slice) seconds(p Plan) float64 {
	if s.Whole {
		return p.Stratum.Seconds()
	}
	return 1
}

// begin is when the slice begins.
func (s *Slice) begin(p Plan) time.Time {
	if s.Whole {
		return p.Begin(s.Stratum)
	}
	return p.Second(s.StreamShard, s.Stratum)
}
