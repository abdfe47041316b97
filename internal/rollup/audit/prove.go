package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotshard/hotshard/internal/rollup/marks"
	"github.com/hotshard/hotshard/internal/rollup/parts"
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
	// repair takes care of what is at rest and differs from its items. The error is
	// parts.ErrMoved if it has moved since.
	repair(ctx context.Context, second L, floors map[string]string) (Result, error)
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
		result, err := proveOnce(ctx, s, round > 0 || t.o.Wait == 0)
		if !errors.Is(err, parts.ErrMoved) {
			return result, err
		}
	}
	return finding(state, fmt.Sprintf("it changed each of %d times it was looked at", rounds)), nil
}

// proveOnce compares a summary with its items, and repairs it. What differs without
// prove, or has changed, is to be looked at again: then the error is parts.ErrMoved.
//
// Two looks, with marks put and acknowledged in between, prove what is compared if they
// are the same: a write before the marks was folded when those were acknowledged, and no
// part has moved, so it was folded before the first look.
func proveOnce[L any](ctx context.Context, s subject[L], prove bool) (Result, error) {
	first, err := s.look(ctx)
	if err != nil {
		return notRead(err)
	}
	result, done := s.judge(first)
	switch {
	case done:
		return result, nil
	case !prove:
		return Result{}, parts.ErrMoved
	}
	proof, err := s.prove(ctx, first)
	switch {
	case err != nil:
		return Result{}, err
	case proof.Missing != "":
		return finding(Unsettled, proof.Missing), nil
	}
	second, err := s.look(ctx)
	if err != nil {
		return notRead(err)
	}
	if !s.same(first, second) {
		return Result{}, parts.ErrMoved
	}
	result, err = s.repair(ctx, second, proof.Floors)
	if err != nil && !errors.Is(err, parts.ErrMoved) && !ofCall(err) {
		return finding(Failed, err.Error()), nil
	}
	return result, err
}

// replace puts what the items come to in the place of a summary's parts. Of more parts
// than one transaction takes it merges some: they have moved then.
func replace[V any](ctx context.Context, store *parts.Store[V], key parts.Key, read []parts.Part[V], total V, expires int64, floors map[string]string) error {
	_, err := store.Replace(ctx, key, read, total, expires, floors)
	if errors.Is(err, parts.ErrTooMany) {
		return store.Squeeze(ctx, key, read)
	}
	return err
}

// notRead makes a finding of what can't be read, and passes on errors of calls.
func notRead(err error) (Result, error) {
	if ofCall(err) {
		return Result{}, err
	}
	return finding(Unreadable, err.Error()), nil
}
