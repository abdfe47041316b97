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

// observe reports an attempt of each write of a transaction that ended with err. It reports conflicts with the next attempt.
func (t *onceTry) observe(ctx context.Context, writes []shardmap.Write, err error) {
	if t.observer == nil {
		return
	}
	t.met = t.met || metMarker(err, len(writes))
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

// observeConflicts reports the conflicts of the attempt before. If a later attempt found the key's marker, they are
// inconclusive: the other transaction was the same request, sent twice.
func (t *onceTry) observeConflicts(ctx context.Context) {
	outcome := shard.Conflicted
	if t.met {
		outcome = shard.Inconclusive
	}
	for _, a := range t.conflicts {
		t.observed.ObserveAs(ctx, a, outcome)
	}
	t.conflicts = nil
}

// metMarker reports whether a transaction failed because of another transaction with the same key.
func metMarker(err error, at int) bool {
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

// probes determines why transactions are throttled, since their errors do not say so.
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

// A probe's result is reused for one second for the same key. At most maxProbed keys are probed per second.
const (
	probeAge  = time.Second
	maxProbed = 1000
)

// probeLifetime is how long a probe stays before TTL removes it.
const probeLifetime = time.Hour

// full reports whether a write shard's partition throttles. It puts at most one probe per second and key. While a probe is
// in flight, other callers get false.
func (p *probes) full(ctx context.Context, w shardmap.Write) bool {
	now, key := time.Now().Round(0), w.Attempt.Key
	last, due := p.claim(key, now)
	if !due {
		return last
	}
	probe := maps.Clone(w.Probe) // the caller may use the write again
	probe[schema.ExpiresAt] = dynamo.Number(now.Add(probeLifetime).Unix())
	_, err := p.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &p.table, Item: probe}, dynamo.NoRetry)
	full := observe.PartitionFull(w.Attempt.Kind, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probed[key] = probed{now, full}
	return full
}

// claim returns the last result of a key's probe; due reports that the caller must send one.
func (p *probes) claim(key string, now time.Time) (last, due bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, known := p.probed[key]; known && now.Sub(one.at).Abs() < probeAge {
		return one.full, false
	} else if !known && len(p.probed) >= maxProbed {
		for key, one := range p.probed {
			if now.Sub(one.at).Abs() >= probeAge {
				delete(p.probed, key)
			}
		}
		if len(p.probed) >= maxProbed {
			return false, false
		}
	}
	if p.probed == nil {
		p.probed = map[string]probed{}
	}
	p.probed[key] = probed{at: now} // the caller sends the probe
	return false, true
}
