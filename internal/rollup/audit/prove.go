package audit

import (
	"context"
	"fmt"

	"github.com/hotshard/hotshard/internal/rollup/marks"
)

// subject is a summary that says only how far each stream shard was folded, so that it
// can be compared only at rest. A look L is one reading of the summary and then of the
// items that it sums up.
type subject[L any] interface {
	look(context.Context) (L, error)
	// judge tells whether a look needs no proof, and what it has found then.
	judge(L) (r Result, done bool)
	// prove has all that was written before it be folded.
	prove(context.Context, L) (marks.Proof, error)
	same(first, second L) bool
	// repair takes care of what is at rest and differs from its items. Again is that it
	// had moved since.
	repair(ctx context.Context, second L, floors map[string]string) (r Result, again bool, err error)
	// restless is for how many rounds it may move, and what it is found to be then.
	restless() (rounds int, state State)
}

// proved audits a subject: it looks once for folds that are on their way, and then for
// proof. It starts over when something has changed.
func proved[L any](ctx context.Context, t *tools, s subject[L]) (Result, error) {
	rounds, state := s.restless()
	for round := range 1 + rounds {
		if round > 0 {
			if err := t.pause(ctx); err != nil {
				return Result{}, err
			}
		}
		result, again, err := proveOnce(ctx, s, round > 0 || t.o.Wait == 0)
		if err != nil || !again {
			return result, err
		}
	}
	return finding(state, fmt.Sprintf("it changed each of %d times it was looked at", rounds)), nil
}

// proveOnce compares a summary with its items, and repairs it. What differs without
// prove, or has changed, is to be looked at again.
//
// Two looks, with marks put and acknowledged in between, prove what is compared if they
// are the same: a write before the marks was folded when those were acknowledged, and no
// part has moved, so it was folded before the first look.
func proveOnce[L any](ctx context.Context, s subject[L], prove bool) (result Result, again bool, err error) {
	first, err := s.look(ctx)
	if err != nil {
		return notRead(err)
	}
	result, done := s.judge(first)
	switch {
	case done:
		return result, false, nil
	case !prove:
		return Result{}, true, nil
	}
	proof, err := s.prove(ctx, first)
	switch {
	case err != nil:
		return Result{}, false, err
	case proof.Missing != "":
		return finding(Unsettled, proof.Missing), false, nil
	}
	second, err := s.look(ctx)
	if err != nil {
		return notRead(err)
	}
	if !s.same(first, second) {
		return Result{}, true, nil
	}
	return s.repair(ctx, second, proof.Floors)
}

// notRead makes a finding of what can't be read, and passes on errors of calls.
func notRead(err error) (Result, bool, error) {
	if ofCall(err) {
		return Result{}, false, err
	}
	return finding(Unreadable, err.Error()), false, nil
}
