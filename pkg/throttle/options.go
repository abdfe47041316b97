package throttle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// Bounds of the options.
const (
	maxPartitionWCU = 100_000
	maxTableWCU     = 1_000_000 // an hour (MaxBurst) of it, in billionths of a unit, fits in an int64

	// defaultTableQuota is AWS's quota of a table or index, in RCU/s and in WCU/s.
	defaultTableQuota = 40_000

	MaxBurst           = time.Hour
	MaxSplitAfter      = 24 * time.Hour
	MaxTransactionHold = time.Second
)

// Options configure the limits.
type Options struct {
	// Partitions is the initial number of partitions of each table and each global index, 1 to 10,000; more if
	// provisioned throughput needs more. A new on-demand table has about four on AWS: it takes 4,000 WCU/s.
	Partitions int
	// PartitionWCU is one partition's write units a second, 1 to 100,000. AWS has 1,000.
	PartitionWCU int
	// PartitionRCU is one partition's read units a second, up to 300,000. 0 is three times PartitionWCU, as on AWS.
	PartitionRCU int
	// TableWCU limits a whole table's write units a second, up to 1,000,000, besides its partitions' limits. Writes to
	// global indexes do not count. 0 is the table's own limit: its provisioned throughput, its maximum on-demand
	// throughput, or the account's quota.
	TableWCU int
	// TableQuota is the account's quota of an on-demand table or index without a maximum, in
	// RCU/s and WCU/s, up to 1,000,000. 0 is AWS's default of 40,000.
	TableQuota int
	// Burst is the time for which a provisioned table or index saves unused throughput, up to an hour. Less than a
	// second is a second. AWS saves up to 300 s, best effort. Partitions save one second.
	Burst time.Duration
	// SplitAfter is how long a partition must be at its limit before it splits in two by its load, at most a day. With
	// 0 it never splits. AWS takes minutes. The items of a partition key stay together.
	SplitAfter time.Duration
	// TransactionHold is how long a TransactWriteItems holds its items, at most a second. Its response waits until
	// then. With 0 nothing conflicts. AWS does not document how long it holds items; 5 ms is a fair guess.
	TransactionHold time.Duration
	// Seed selects one of many placements of keys on partitions. Equal seeds have equal
	// placements; see [Limiter.Partition].
	Seed uint64
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Sleep waits for a duration on the clock Now, or until the context ends; nil is a timer.
	Sleep func(context.Context, time.Duration)
	// Base sends the requests to the engine; nil is http.DefaultTransport.
	Base http.RoundTripper
}

func (o Options) withDefaults() Options {
	o.PartitionRCU = cmp.Or(o.PartitionRCU, 3*o.PartitionWCU)
	o.TableQuota = cmp.Or(o.TableQuota, defaultTableQuota)
	o.Burst = cmp.Or(o.Burst, time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, d time.Duration) { dynamo.Pause(ctx, d) }
	}
	if o.Base == nil {
		o.Base = http.DefaultTransport
	}
	return o
}

// Validate returns all invalid options in one error, or nil.
func (o Options) Validate() error {
	o = o.withDefaults()
	return errors.Join(
		checkBounds("the number of partitions", o.Partitions, 1, partitions.MaxPartitions),
		checkBounds("a partition's write units a second", o.PartitionWCU, 1, maxPartitionWCU),
		checkBounds("a partition's read units a second", o.PartitionRCU, 1, 3*maxPartitionWCU),
		checkBounds("a table's write units a second", o.TableWCU, 0, maxTableWCU),
		checkBounds("the quota of a table", o.TableQuota, 1, maxTableWCU),
		checkBounds("the burst", o.Burst, 0, MaxBurst),
		checkBounds("the time to a split", o.SplitAfter, 0, MaxSplitAfter),
		checkBounds("the hold of a transaction", o.TransactionHold, 0, MaxTransactionHold),
	)
}

// checkBounds returns an error if an option is less than low or more than high.
func checkBounds[V cmp.Ordered](option string, value, low, high V) error {
	if value < low || value > high {
		return fmt.Errorf("%s is %v: want %v to %v", option, value, low, high)
	}
	return nil
}
