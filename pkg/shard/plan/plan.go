package plan

import (
	"fmt"
	"math"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Shares of a partition's limit that one write shard is planned to use. They
// leave room for write shards that meet on one partition, which happens by
// chance. A counter's write that finds its partition busy goes to another write
// shard; a calculated one can't.
//
// By simulation over 64 partitions, at ten times a partition's limit, these
// shares leave 99 % of storms without a second in which a partition is over its
// limit; twice the share does not.
const (
	RandomShare     = 0.25
	CalculatedShare = 0.125
)

// What one partition takes and holds, in both capacity modes: AWS's Developer Guide,
// "Partitions and data distribution" and "Best practices for designing partition keys".
const (
	PartitionWriteUnits = 1000 // a second
	PartitionReadUnits  = 3000 // a second
	PartitionGB         = 10
)

// WriteUnits is what one write of an item of so many bytes, names and values, costs:
// a unit for each 1,024 bytes that it begins, and one at least.
func WriteUnits(itemBytes int) int { return max(1, (itemBytes+1023)/1024) }

// Needed returns how many write shards a key needs for rate write units a second,
// with partitions that take limit and write shards that are to use share of it.
// It is at least 1 and at most [shard.MaxShards].
func Needed(rate, limit, share float64) int {
	n := roundUp(rate / (share * limit))
	switch {
	case n >= shard.MaxShards:
		return shard.MaxShards
	case n > 1:
		return int(n)
	}
	return 1 // also for rates that are no number
}

// roundUp is the least whole number that is not below x by more than what floating
// point arithmetic makes of products such as 10,000 * 1.1.
func roundUp(x float64) float64 { return math.Ceil(x * (1 - 1e-12)) }

// Grown returns the shard count that a key of count write shards grows to when it
// needs needed: at least double, since a measured need is a lower bound, and at
// most [shard.MaxShards].
func Grown(count, needed int) int {
	return min(max(needed, 2*count), shard.MaxShards)
}

// Demand is what a key, and the table that it is in, are planned for. A field that
// is not set, zero, has the default that it names.
type Demand struct {
	// WriteUnits is the key's peak, in write units a second. Default: what Rate and
	// ItemBytes come to; one of WriteUnits and Rate is needed.
	WriteUnits float64
	// Rate is the key's peak in items written a second.
	Rate float64
	// ItemBytes is an item's size, names and values. Default 1,024; up to 409,600,
	// which is DynamoDB's limit.
	ItemBytes int
	// Safety is how many times the peak there is to be room for: 1 or more. Default
	// [DefaultSafety].
	Safety float64
	// TableWriteUnits and TableReadUnits are the table's own peak, units a second, the
	// key's writes among them. Default: the key's write units; no reads.
	TableWriteUnits, TableReadUnits float64
	// TableGB is how much the table holds. Default 0.
	TableGB float64
	// LoadFactor is the table's mean load as a part of its peak, above 0 and up to
	// 1. Default 1: the peak lasts. On demand pays for the mean, provisioned
	// capacity for the peak.
	LoadFactor float64
	// ReadItems is how many items a read gathers over all write shards. Default 100.
	ReadItems int
}

// Defaults of a [Demand].
const (
	DefaultSafety    = 1.5
	defaultItemBytes = 1024
	defaultReadItems = 100
	maxItemBytes     = 400 << 10
)

// Plan is what a [Demand] takes.
type Plan struct {
	WriteUnits float64 // the key's peak, units a second

	// Shards is how many write shards give the peak, Safety times over, a partition
	// each: [Needed] with a share of 1. It is the fewest that can do, and does when no
	// two of them are on one partition, as after DynamoDB has split a partition that
	// stayed hot.
	Shards int
	// RandomShards and CalculatedShards also leave room for write shards that meet
	// on a partition: [Needed] with [RandomShare], for writes that may go to any
	// write shard, and with [CalculatedShare]. The dynamic shard map grows a key to
	// these. Safety is not in them: the shares have it.
	RandomShards, CalculatedShards int
	// Capped tells that a count would be above [shard.MaxShards], and was cut off there.
	Capped bool

	Partitions Partitions
	Read       FanOut // a gather over Shards write shards

	OnDemand, Provisioned Cost // the table's, a month
}

// Partitions is how many partitions a table starts with.
type Partitions struct {
	Throughput int `json:"throughput"` // ceil(read units / 3,000 + write units / 1,000)
	Size       int `json:"size"`       // ceil(GB / 10)
	Expected   int `json:"expected"`   // the larger of the two; 1 at least
}

// New works out what a demand takes, at these prices. A value that makes no
// sense is a [*DemandError], which names the field.
func New(d Demand, prices Prices) (Plan, error) {
	d, err := d.withDefaults()
	if err != nil {
		return Plan{}, err
	}
	if err := prices.check(); err != nil {
		return Plan{}, err
	}
	shards := func(rate, share float64) (n int, capped bool) {
		return Needed(rate, PartitionWriteUnits, share), roundUp(rate/(share*PartitionWriteUnits)) > shard.MaxShards
	}
	p := Plan{WriteUnits: d.WriteUnits, Partitions: partitions(d)}
	var capped [3]bool
	p.Shards, capped[0] = shards(d.WriteUnits*d.Safety, 1)
	p.RandomShards, capped[1] = shards(d.WriteUnits, RandomShare)
	p.CalculatedShards, capped[2] = shards(d.WriteUnits, CalculatedShare)
	p.Capped = capped[0] || capped[1] || capped[2]
	p.Read = Gather(p.Shards, d.ReadItems, d.ItemBytes)
	p.OnDemand, p.Provisioned = prices.onDemand(d), prices.provisioned(d)
	return p, nil
}

func partitions(d Demand) Partitions {
	p := Partitions{
		Throughput: int(roundUp(d.TableReadUnits/PartitionReadUnits + d.TableWriteUnits/PartitionWriteUnits)),
		Size:       int(roundUp(d.TableGB / PartitionGB)),
	}
	p.Expected = max(1, p.Throughput, p.Size)
	return p
}

// FanOut is what one read of a sharded key costs.
type FanOut struct {
	Queries         int     `json:"queries"`
	ReadUnits       float64 `json:"read_units"` // eventually consistent
	StrongReadUnits float64 `json:"read_units_strong"`
}

// readUnitBytes is what one strongly consistent read unit reads; an eventually
// consistent read takes half a unit for as much.
const readUnitBytes = 4096

// Gather is what reading so many items of so many bytes costs that lie evenly on n
// write shards: a query for each, which is rounded up by itself, and costs as much
// as 4 KB also when it finds nothing. It panics when n is not positive.
func Gather(n, items, itemBytes int) FanOut {
	if n < 1 {
		panic(fmt.Sprintf("plan: a gathering of %d write shards", n))
	}
	more := items % n // write shards that have one item more than the others
	units := func(items int) float64 {
		return math.Max(1, math.Ceil(float64(items)*float64(itemBytes)/readUnitBytes))
	}
	strong := float64(more)*units(items/n+1) + float64(n-more)*units(items/n)
	return FanOut{Queries: n, ReadUnits: strong / 2, StrongReadUnits: strong}
}

// DemandError says which field of a [Demand] or of [Prices] makes no sense, and why.
type DemandError struct {
	Field  string
	Value  float64
	Reason string
}

func (e *DemandError) Error() string {
	return fmt.Sprintf("shard: plan: %s %v: %s", e.Field, e.Value, e.Reason)
}
