package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"
)

// Plan selects the seconds that are read. The time is divided into strata of equal length, and one
// second of each is read. Each stream shard has a random position of that second, the same in all
// strata. So a storm that lasts longer than a stratum is seen.
type Plan struct {
	From    time.Time // a whole second
	Strata  int
	Stratum time.Duration // whole seconds
	Seed    uint64        // the same seed selects the same seconds
}

// Bounds of a plan.
const (
	MinShare  = 0.0005
	maxStrata = 100_000
)

// NewPlan divides the time since, which ends at to, into whole strata, at least one. share is the share
// of the time to read: 0.0005 to 1.
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

// To returns the end of the time.
func (p Plan) To() time.Time { return p.Begin(p.Strata) }

// Begin returns when a stratum begins.
func (p Plan) Begin(stratum int) time.Time { return p.From.Add(time.Duration(stratum) * p.Stratum) }

// StratumAt returns the number of the stratum of an instant.
func (p Plan) StratumAt(t time.Time) int { return int(t.Sub(p.From) / p.Stratum) }

// Second returns the second of a stratum to read on a stream shard.
func (p Plan) Second(streamShard string, stratum int) time.Time {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", p.Seed, streamShard))
	n := binary.BigEndian.Uint64(sum[:]) % uint64(p.Stratum/time.Second)
	return p.Begin(stratum).Add(time.Duration(n) * time.Second)
}

// columns returns how many strata make a column, so that the matrix has at most so many columns.
func (p Plan) columns(most int) (strata int) {
	for _, n := range []int{1, 3, 6, 12, 36, 72} {
		if (p.Strata+n-1)/n <= most {
			return n
		}
	}
	return (p.Strata + most - 1) / most
}

// Slice has the counts of what was read of a stratum of one stream shard: one second, or all of it.
type Slice struct {
	StreamShard string
	Stratum     int
	Whole       bool
	Records     int
	Units       uint64
	Keys        map[string]Tally // by partition key
	Indexes     map[IndexKey]Tally
	Vectors     map[IndexKey]Tally // of vector indexes, whose units are bytes
}

// IndexKey is a partition key of a global or vector index.
type IndexKey struct{ Index, Key string }

func (k IndexKey) compare(other IndexKey) int {
	return cmp.Or(strings.Compare(k.Index, other.Index), strings.Compare(k.Key, other.Key))
}

// Tally has the counts of a partition key.
type Tally struct {
	Units  uint64
	Writes int

	Fresh int     // writes that created an item
	Tau   float64 // [Order.Tau] of the sort keys of new items
}

// A key's sort keys count as increasing from these values on. TestRisingSortKeys has the error rates.
const (
	enoughFresh = 30
	risingTau   = 0.75
)

// rises reports whether the key's new items come in the order of their sort keys.
func (t Tally) rises() bool {
	return t.Fresh >= enoughFresh && t.Tau >= risingTau && 2*t.Fresh >= t.Writes
}

// seconds returns the length of the slice.
func (s *Slice) seconds(p Plan) float64 {
	if s.Whole {
		return p.Stratum.Seconds()
	}
	return 1
}

// begin returns when the slice begins.
func (s *Slice) begin(p Plan) time.Time {
	if s.Whole {
		return p.Begin(s.Stratum)
	}
	return p.Second(s.StreamShard, s.Stratum)
}
