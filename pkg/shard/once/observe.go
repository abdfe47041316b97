package once

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// observe reports an attempt of each write of a transaction that ended with err. It reports conflicts only after the
// next attempt, which may show their cause. hopeless means that a write's key gets no capacity soon.
func (t *callAttempts) observe(ctx context.Context, writes []shardmap.Write, err error) (hopeless bool) {
	if t.options.Observer == nil {
		return false
	}
	t.sentTwice = t.sentTwice || markerFailed(err, len(writes))
	t.observeConflicts(ctx)
	if dynamo.IsInvalid(err) {
		return false
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
		outcome := t.probes.Outcome(ctx, writes[i], i, err)
		if outcome == shard.Conflicted {
			t.conflicts = append(t.conflicts, a)
			continue
		}
		hopeless = t.observed.ObserveAs(ctx, a, outcome) || hopeless
	}
	return hopeless
}

// observeConflicts reports the conflicts of the previous attempt. If the call was sent twice, the conflicts
// are inconclusive, since the other transaction of the call caused them.
func (t *callAttempts) observeConflicts(ctx context.Context) {
	outcome := shard.Conflicted
	if t.sentTwice {
		outcome = shard.Inconclusive
	}
	for _, a := range t.conflicts {
		t.observed.ObserveAs(ctx, a, outcome)
	}
	t.conflicts = nil
}

// markerFailed reports whether a transaction was canceled because another transaction wrote the marker, which is
// the action with this index.
func markerFailed(err error, index int) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || index >= len(canceled.CancellationReasons) {
		return false
	}
	code := aws.ToString(canceled.CancellationReasons[index].Code)
	return code == "TransactionConflict" || code == "ConditionalCheckFailed"
}
