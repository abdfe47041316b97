package plan

import (
	"fmt"
	"math"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Shares of a partition's limit that one write shard is planned to use. The rest is a reserve for other write
// shards that are on the same partition by chance. A throttled write to a random write shard goes to
// another write shard; a write to a calculated one can't.
//
// With these shares, 99 % of the simulated storms on a key kept every partition within its limit in every second. The
// storms had ten times a partition's limit, on 64 partitions. With twice the share, fewer storms did.
const (
	RandomShare     = 0.25
	CalculatedShare = 0.125
)

// Limits of one partition in both capacity modes, from AWS's Developer Guide, "Partitions and
// data distribution" and "Best practices for designing partition keys".
const (
	PartitionWriteUnits = 1000 // a second
	partitionReadUnits  = 3000 // a second
	partitionGB         = 10
)

// WriteUnits returns the write units of one write of an item of this size, names and values:
// one for each started 1,024 bytes, at least one.
func WriteUnits(itemBytes int) int { return max(1, (itemBytes+1023)/1024) }

// Needed returns how many write shards a key needs for rate write units a second, if a write shard may use the fraction
// share of a partition's limit, also in units a second. The result is 1 to [shard.MaxShards]; it is 1 if an argument is
// NaN.
func Needed(rate, limit, share float64) int {
	if n := roundUp(rate / (share * limit)); n > 1 {
		return int(min(n, shard.MaxShards))
	}
	return 1
}

// roundUp returns x rounded up, without the rounding error of products such as 10,000 * 1.1.
func roundUp(x float64) float64 { return math.Ceil(x * (1 - 1e-12)) }

// Grown returns the new shard count of a key that has count write shards and needs needed: at least
// twice count, since a measured need is a lower bound. The count is at most [shard.MaxShards].
func Grown(count, needed int) int {
	return min(max(needed, 2*count), shard.MaxShards)
}

// Demand describes a key and its table. A field that is zero has the default in its comment.
type Demand struct {
	// WriteUnits is the key's peak in write units a second. It is required.
	WriteUnits float64
	// ItemBytes is an item's size, names and values. Default 1,024; up to 409,600, which is DynamoDB's limit.
	ItemBytes int
	// Safety is the factor by which the planned capacity exceeds the peak: 1 or more. Default [DefaultSafety].
	Safety float64
	// TableWriteUnits and TableReadUnits are the table's own peak, units a second, including
	// the key's writes. Default: the key's write units; no reads.
	TableWriteUnits, TableReadUnits float64
	// TableGB is the table's size. Default 0.
	TableGB float64
}

const (
	// DefaultSafety is the default of [Demand.Safety].
	DefaultSafety    = 1.5
	defaultItemBytes = 1024
	maxItemBytes     = 400 << 10

	// ReadItems is how many items the planned read gathers from all write shards.
	ReadItems = 100
)

// Plan is the result for a [Demand].
type Plan struct {
	// Shards is the least number of write shards for Safety times the peak: [Needed] with a share of 1. It is enough if
	// each write shard has a partition to itself, as after DynamoDB has split hot partitions.
	Shards int
	// RandomShards and CalculatedShards allow for write shards that are on one partition. They are [Needed] with
	// [RandomShare], for writes that may go to any write shard, and with [CalculatedShare]. hotshard grows a key to
	// these counts. They leave out Safety, because the shares include a reserve.
	RandomShards, CalculatedShards int
	// Capped reports that one of the three counts was limited to [shard.MaxShards].
	Capped bool

	Partitions Partitions
	Read       FanOut // a read of ReadItems items from Shards write shards

	OnDemand, Provisioned Cost // the table's, a month
}

// Partitions is the number of partitions of a new table.
type Partitions struct {
	Throughput int `json:"throughput"` // ceil(read units / 3,000 + write units / 1,000)
	Size       int `json:"size"`       // ceil(GB / 10)
	Expected   int `json:"expected"`   // the larger of the two, at least 1
}

// New returns the plan for a demand. The error for an invalid value is a [*DemandError], which names the field.
func New(d Demand) (Plan, error) {
	d, err := d.withDefaults()
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Shards:           Needed(d.WriteUnits*d.Safety, PartitionWriteUnits, 1),
		RandomShards:     Needed(d.WriteUnits, PartitionWriteUnits, RandomShare),
		CalculatedShards: Needed(d.WriteUnits, PartitionWriteUnits, CalculatedShare),
		Partitions:       partitions(d), OnDemand: onDemand(d), Provisioned: provisioned(d),
	}
	largestNeed := max(d.WriteUnits*d.Safety, d.WriteUnits/CalculatedShare) / PartitionWriteUnits
	p.Capped = roundUp(largestNeed) > shard.MaxShards
	p.Read = gatherCost(p.Shards, ReadItems, d.ItemBytes)
	return p, nil
}

// partitions returns the partitions of a table with this throughput and size.
func partitions(d Demand) Partitions {
	throughput := int(roundUp(d.TableReadUnits/partitionReadUnits + d.TableWriteUnits/PartitionWriteUnits))
	size := int(roundUp(d.TableGB / partitionGB))
	return Partitions{Throughput: throughput, Size: size, Expected: max(1, throughput, size)}
}

// FanOut is the cost of one read of a sharded key.
type FanOut struct {
	Queries         int     `json:"queries"`
	ReadUnits       float64 `json:"read_units"` // eventually consistent
	StrongReadUnits float64 `json:"read_units_strong"`
}

// readUnitBytes is the size that one strongly consistent read unit reads. An eventually
// consistent read costs half a unit for it.
const readUnitBytes = 4096

// gatherCost returns the cost of reading a number of items that are spread evenly over the write shards, with one query
// for each write shard. A query's size is rounded up to 4 KB, even if the query finds nothing.
func gatherCost(shards, items, itemBytes int) FanOut {
	queryUnits := func(items int) float64 {
		return math.Max(1, math.Ceil(float64(items)*float64(itemBytes)/readUnitBytes))
	}
	larger := items % shards // the number of write shards that have one item more than the others
	strong := float64(larger)*queryUnits(items/shards+1) + float64(shards-larger)*queryUnits(items/shards)
	return FanOut{Queries: shards, ReadUnits: strong / 2, StrongReadUnits: strong}
}

// DemandError is the error of an invalid field of a [Demand].
type DemandError struct {
	Field  string
	Value  float64
	Reason string
}

func (e *DemandError) Error() string {
	return fmt.Sprintf("plan: %s is %v: %s", e.Field, e.Value, e.Reason)
}
