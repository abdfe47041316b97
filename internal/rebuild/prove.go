package rebuild

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotshard/hotshard/internal/fold/parts"
)

// provable is a summary that can be compared only at rest, because it has only each stream shard's last folded sequence
// number. L is the type of a reading of the summary, and then of its items.
type provable[L any] interface {
	readAll(context.Context) (L, error)
	// resultWithoutProof returns the result of a reading; done is false if the result needs a proof.
	resultWithoutProof(L) (r Result, done bool)
	// prove waits until all earlier writes are folded, or returns what is missing.
	prove(context.Context, L) (parts.Proof, error)
	unchanged(first, second L) bool
	// repair returns how a summary at rest differs from its items, and repairs it with Options.Repair. It returns
	// parts.ErrMoved if the summary has changed since the second reading. watermarks are those of the proof.
	repair(ctx context.Context, second L, watermarks map[string]string) (Result, error)
	// retryLimit returns how often the check is repeated, and the state of the finding if the summary changed during each
	// attempt.
	retryLimit() (rounds int, state State)
}

// checkWithProof checks a summary, and repeats the check if the summary has changed. With Options.Wait, the first
// attempt is without a proof, since folds may be in flight.
func checkWithProof[L any](ctx context.Context, t *tools, summary provable[L]) (Result, error) {
	rounds, state := summary.retryLimit()
	return t.repeat(ctx, 1+rounds, state, func(round int) (Result, error) {
		mayProve := round > 0 || t.o.Wait == 0
		return proveOnce(ctx, summary, mayProve)
	})
}

// repeat calls attempt until it returns anything but parts.ErrMoved, and pauses in between. If the last of the rounds
// returns ErrMoved, repeat returns a finding with this state.
func (t *tools) repeat(ctx context.Context, rounds int, state State, attempt func(round int) (Result, error)) (Result, error) {
	for round := range rounds {
		if round > 0 {
			if err := t.pause(ctx); err != nil {
				return Result{}, err
			}
		}
		result, err := attempt(round)
		if !errors.Is(err, parts.ErrMoved) {
			return result, err
		}
	}
	return oneFinding(state, fmt.Sprintf("it changed during each of %d readings: check it again later", rounds)), nil
}

// proveOnce compares a summary with its items, and repairs it. It returns parts.ErrMoved, so that the caller repeats it, if
// the summary has changed, or if a proof is needed and mayProve is false.
//
// Two equal readings, with markers written and acknowledged in between, prove the comparison. A write before the markers
// was folded when they were acknowledged. No fragment has changed, so the write was folded before the first reading.
func proveOnce[L any](ctx context.Context, summary provable[L], mayProve bool) (Result, error) {
	first, err := summary.readAll(ctx)
	if err != nil {
		return Result{}, err
	}
	result, done := summary.resultWithoutProof(first)
	switch {
	case done:
		return result, nil
	case !mayProve:
		return Result{}, parts.ErrMoved
	}
	proof, err := summary.prove(ctx, first)
	switch {
	case err != nil:
		return Result{}, err
	case proof.Missing != "":
		return oneFinding(Unsettled, proof.Missing), nil
	}
	second, err := summary.readAll(ctx)
	if err != nil {
		return Result{}, err
	}
	if !summary.unchanged(first, second) {
		return Result{}, parts.ErrMoved
	}
	result, err = summary.repair(ctx, second, proof.Watermarks)
	if err != nil && !errors.Is(err, parts.ErrMoved) && !isCallError(err) {
		return oneFinding(Failed, err.Error()), nil
	}
	return result, err
}
