package observe

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// throttleCodes are the cancellation reasons of throttled actions.
var throttleCodes = map[string]bool{"ThrottlingError": true, "ProvisionedThroughputExceeded": true}

// Probes finds out whether the partition of a transaction's write throttles. A throttled transaction does not give the
// reason; a throttled put of a probe does.
type Probes struct {
	client      client.Putter
	hasObserver bool // there is an observer; otherwise nothing is probed

	mu      sync.Mutex
	results map[string]probeResult // by base key
}

// NewProbes returns Probes that put items into the writes' tables, if there is an observer.
func NewProbes(db client.Putter, o shard.Observer) *Probes {
	return &Probes{client: db, hasObserver: o != nil}
}

// probeResult is the result of a probe.
type probeResult struct {
	at   time.Time // of the put
	full bool      // the partition throttled the probe
}

const (
	probeAge      = time.Second // how long a probe's result is used again for its key
	maxProbed     = 1000        // keys with a result
	probeLifetime = time.Hour   // before TTL deletes the probe's item
)

// Outcome returns the outcome of w, the write with index i of a transaction that ended with err: Inconclusive for a
// transfer, and without an observer. If the write was throttled, Outcome may put the write's probe.
func (p *Probes) Outcome(ctx context.Context, w shardmap.Write, i int, err error) shard.Outcome {
	if w.Transfer || !p.hasObserver {
		return shard.Inconclusive
	}
	if err == nil {
		return shard.Accepted
	}
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || i >= len(canceled.CancellationReasons) {
		return shard.Inconclusive
	}
	switch code := aws.ToString(canceled.CancellationReasons[i].Code); {
	case code == "TransactionConflict":
		return shard.Conflicted
	case throttleCodes[code] && w.Probe != nil && p.isFull(ctx, w):
		return shard.Throttled
	}
	return shard.Inconclusive
}

// isFull reports whether a write shard's partition throttles. It puts at most one probe per second and key.
// While a probe is in flight, other callers get false.
func (p *Probes) isFull(ctx context.Context, w shardmap.Write) bool {
	now, key := time.Now().Round(0), w.Attempt.Key
	full, claimed := p.claimProbe(key, now)
	if !claimed {
		return full
	}
	probe := maps.Clone(w.Probe) // the caller may use the write again
	probe[schema.ExpiresAt] = dynamo.Number(now.Add(probeLifetime).Unix())
	_, err := p.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: tableOf(w.Action), Item: probe}, dynamo.NoRetry)
	full = PartitionFull(w.Attempt.Kind, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results[key] = probeResult{now, full}
	return full
}

// tableOf returns the table of a put or an update. Other writes have no probe.
func tableOf(a types.TransactWriteItem) *string {
	switch {
	case a.Put != nil:
		return a.Put.TableName
	case a.Update != nil:
		return a.Update.TableName
	}
	return nil
}

// claimProbe reports whether the caller must put a key's probe. Otherwise full is the result of the key's last probe;
// full is false while that probe is in flight, or if too many keys have a result.
func (p *Probes) claimProbe(key string, now time.Time) (full, claimed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	isOld := func(_ string, r probeResult) bool { return now.Sub(r.at).Abs() >= probeAge }
	if last := p.results[key]; !isOld(key, last) {
		return last.full, false
	}
	if len(p.results) >= maxProbed {
		maps.DeleteFunc(p.results, isOld)
	}
	if len(p.results) >= maxProbed {
		return false, false
	}
	if p.results == nil {
		p.results = map[string]probeResult{}
	}
	p.results[key] = probeResult{at: now}
	return false, true
}
