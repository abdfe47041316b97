package parts_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/require"
)

// empty empties all fragments.
func (r *rig) empty(read []parts.Part[measures.Part], watermarks map[string]string) error {
	_, err := r.store.Replace(context.Background(), bucketOf("e").Key(), read, measures.Part{}, 0, watermarks)
	return err
}

// TestEmpty empties more fragments than a transaction takes, and the merged one. Then redelivered records,
// and those up to a low watermark, add nothing, and later ones count.
func TestEmpty(t *testing.T) {
	r := newRig(t)
	for n := range 110 {
		r.fold(t, 0, "e", fmt.Sprintf("s%03d", n), 0, 1)
		if n == 1 {
			r.merge(t, "e")
		}
	}
	r.fold(t, 0, "e", "a", 0, 5)
	watermarks := map[string]string{"a": watermark(7), "b": watermark(3)}
	if err := r.empty(r.read(t, "e"), watermarks); !errors.Is(err, parts.ErrMoved) {
		t.Fatal(err)
	}
	require.NoError(t, r.empty(r.read(t, "e"), watermarks))
	r.check(t, "e")
	r.fold(t, 1, "e", "s007", 0, 1)
	r.fold(t, 0, "e", "a", 3, 7)
	r.fold(t, 0, "e", "b", 0, 3)
	r.check(t, "e")
	r.fold(t, 0, "e", "c", 0, 4)
	r.fold(t, 0, "e", "b", 0, 4)
	if got := sum(r.read(t, "e")); got.Events != 5 {
		t.Errorf("%d events, want 4 of c and the one of b above the watermark", got.Events)
	}
}

// TestFoldBeforeAnEmpty checks that no fragment is emptied if one was folded into since the read.
func TestFoldBeforeAnEmpty(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "a", 0, 2)
	r.fold(t, 0, "e", "b", 0, 3)
	stale := r.read(t, "e")
	r.fold(t, 1, "e", "b", 3, 4)
	if err := r.empty(stale, nil); !errors.Is(err, parts.ErrMoved) {
		t.Fatalf("emptying a newer fragment: %v, want ErrMoved", err)
	}
	for _, p := range r.read(t, "e") {
		if p.StreamShard == "b" && p.Value.Events != 4 {
			t.Errorf("the newer fragment has %d events, want 4", p.Value.Events)
		}
	}
	require.NoError(t, r.empty(r.read(t, "e"), nil))
	r.check(t, "e")
	r.fold(t, 0, "e", "b", 0, 4)
	r.check(t, "e")
}

// TestEmptyOfHalfAMerge checks that Replace fails if the query saw half of a merge: the emptied fragments,
// and not yet their sum. The merged fragment may be the first, or follow an empty one.
func TestEmptyOfHalfAMerge(t *testing.T) {
	r := newRig(t)
	for round := range 2 {
		r.fold(t, 0, "e", "a", 2*round, 2*round+2)
		r.fold(t, 0, "e", "b", 2*round, 2*round+2)
		var half []parts.Part[measures.Part]
		for _, p := range r.read(t, "e") {
			if p.Merged() {
				half = append(half, p)
			}
		}
		r.merge(t, "e")
		for _, p := range r.read(t, "e") {
			if !p.Merged() {
				half = append(half, p)
			}
		}
		if err := r.empty(half, nil); !errors.Is(err, parts.ErrMoved) {
			t.Fatalf("emptying half of a merge: %v, want ErrMoved", err)
		}
		require.NoError(t, r.empty(r.read(t, "e"), nil))
		r.check(t, "e")
	}
}
