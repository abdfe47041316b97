package once

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
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// observe reports an attempt of each write of a transaction that ended with err. It holds conflicts back
// until the next attempt, which may show why.
func (t *onceTry) observe(ctx context.Context, writes []shardmap.Write, err error) {
	if t.observer == nil {
		return
	}
	t.duplicate = t.duplicate || markerFailed(err, len(writes))
	t.observeConflicts(ctx)
	if dynamo.IsInvalid(err) {
		return
	}
	attempts := make([]shard.Attempt, len(writes))
	for i, w := range writes {
		attempts[i] = w.Attempt
	}
	observe.SumItems(attempts)
	for i, a := range attempts {
		if a.Key == "" {
			continue
		}
		outcome := t.probes.outcome(ctx, writes[i], i, err)
		if outcome == shard.Conflicted {
			t.conflicts = append(t.conflicts, a)
			continue
		}
		t.observed.ObserveAs(ctx, a, outcome)
	}
}

// observeConflicts reports the conflicts of the previous attempt. If the same request was sent twice, they
// are inconclusive, since its other transaction was the cause.
func (t *onceTry) observeConflicts(ctx context.Context) {
	outcome := shard.Conflicted
	if t.duplicate {
		outcome = shard.Inconclusive
	}
	for _, a := range t.conflicts {
		t.observed.ObserveAs(ctx, a, outcome)
	}
	t.conflicts = nil
}

// markerFailed reports whether a transaction was canceled because another one wrote the marker, which is
// action number at.
func markerFailed(err error, at int) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || at >= len(canceled.CancellationReasons) {
		return false
	}
	code := aws.ToString(canceled.CancellationReasons[at].Code)
	return code == "TransactionConflict" || code == "ConditionalCheckFailed"
}

// throttleCodes are the cancellation reasons of throttled actions.
var throttleCodes = map[string]bool{"ThrottlingError": true, "ProvisionedThroughputExceeded": true}

// outcome returns the outcome of a transaction's write number i.
func (p *probes) outcome(ctx context.Context, w shardmap.Write, i int, err error) shard.Outcome {
	if w.Transfer {
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
	case throttleCodes[code] && w.Probe != nil && p.full(ctx, w):
		return shard.Throttled
	}
	return shard.Inconclusive
}

// probes finds out whether a write shard's partition throttles, since a throttled transaction does not
// give the reason.
type probes struct {
	client client.Putter
	table  string

	mu     sync.Mutex
	probed map[string]probed // by base key
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

// full reports whether a write shard's partition throttles. It puts at most one probe per second and key.
// While a probe is in flight, other callers get false.
func (p *probes) full(ctx context.Context, w shardmap.Write) bool {
	now, key := time.Now().Round(0), w.Attempt.Key
	full, cached := p.cachedOrClaim(key, now)
	if cached {
		return full
	}
	probe := maps.Clone(w.Probe) // the caller may use the write again
	probe[schema.ExpiresAt] = dynamo.Number(now.Add(probeLifetime).Unix())
	_, err := p.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &p.table, Item: probe}, dynamo.NoRetry)
	full = observe.PartitionFull(w.Attempt.Kind, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probed[key] = probed{now, full}
	return full
}

// cachedOrClaim returns the cached result of a key's probe, or false if too many keys have one. If
// nothing is cached, the caller must send the probe.
func (p *probes) cachedOrClaim(key string, now time.Time) (full, cached bool) {
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
