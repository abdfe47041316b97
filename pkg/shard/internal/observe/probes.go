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

// Outcome returns the outcome of write i of a transaction that ended with err. If the write was throttled, Outcome may put
// the write's probe.
func (p *Probes) Outcome(ctx context.Context, w shardmap.Write, i int, err error) shard.Outcome {
	if w.Transfer || !p.observed {
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

// Probes finds out whether a write shard's partition throttles. A throttled transaction does not
// give the reason; a throttled put of a probe does.
type Probes struct {
	client   client.Putter
	observed bool // there is an observer; otherwise nothing is probed

	mu     sync.Mutex
	probed map[string]probed // by base key
}

// NewProbes returns Probes that put items into the writes' tables, if there is an observer.
func NewProbes(db client.Putter, o shard.Observer) *Probes {
	return &Probes{client: db, observed: o != nil}
}

// probed is the result of a probe.
type probed struct {
	at   time.Time
	full bool
}

const (
	probeAge      = time.Second // how long a probe's result is used again for its key
	maxProbed     = 1000        // keys with a result
	probeLifetime = time.Hour   // before TTL deletes the probe's item
)

// isFull reports whether a write shard's partition throttles. It puts at most one probe per second and key.
// While a probe is in flight, other callers get false.
func (p *Probes) isFull(ctx context.Context, w shardmap.Write) bool {
	now, key := time.Now().Round(0), w.Attempt.Key
	full, cached := p.cachedOrClaim(key, now)
	if cached {
		return full
	}
	probe := maps.Clone(w.Probe) // the caller may use the write again
	probe[schema.ExpiresAt] = dynamo.Number(now.Add(probeLifetime).Unix())
	_, err := p.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: tableOf(w.Action), Item: probe}, dynamo.NoRetry)
	full = PartitionFull(w.Attempt.Kind, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probed[key] = probed{now, full}
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

// cachedOrClaim returns the cached result of a key's probe, or false if too many keys have a result. If
// cached is false, the caller must send the probe.
func (p *Probes) cachedOrClaim(key string, now time.Time) (full, cached bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	isOld := func(_ string, r probed) bool { return now.Sub(r.at).Abs() >= probeAge }
	if last := p.probed[key]; !isOld(key, last) {
		return last.full, true
	}
	if len(p.probed) >= maxProbed {
		maps.DeleteFunc(p.probed, isOld)
	}
	if len(p.probed) >= maxProbed {
		return false, true
	}
	if p.probed == nil {
		p.probed = map[string]probed{}
	}
	p.probed[key] = probed{at: now}
	return false, false
}
