package parts_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// empty replaces the parts by nothing.
func (r *rig) empty(read []parts.Part[measures.Part], floors map[string]string) error {
	_, err := r.store.Replace(context.Background(), bucketOf("e").Key(), read, measures.Part{}, 0, floors)
	return err
}

// TestEmpty: all parts are emptied, after a merge of more than a transaction takes, the merged one, too. What
// is redelivered, or lies at or below a floor, adds nothing then; what comes after does.
func TestEmpty(t *testing.T) {
	r := newRig(t)
	for n := range 110 {
		r.fold(t, 0, "e", fmt.Sprintf("s%03d", n), 0, 1)
		if n == 1 {
			r.merge(t, "e")
		}
	}
	r.fold(t, 0, "e", "a", 0, 5)
	floors := map[string]string{"a": floor(7), "b": floor(3)}
	if err := r.empty(r.read(t, "e"), floors); !errors.Is(err, parts.ErrMoved) {
		t.Fatal(err)
	}
	if err := r.empty(r.read(t, "e"), floors); err != nil {
		t.Fatal(err)
	}
	r.check(t, "e")
	r.fold(t, 1, "e", "s007", 0, 1)
	r.fold(t, 0, "e", "a", 3, 7)
	r.fold(t, 0, "e", "b", 0, 3)
	r.check(t, "e")
	r.fold(t, 0, "e", "c", 0, 4)
	r.fold(t, 0, "e", "b", 0, 4)
	if got := sum(r.read(t, "e")); got.Events != 5 {
		t.Errorf("%d events, want 4 and the one behind the floor", got.Events)
	}
}

// TestEmptyMeetsAFold: a part that was folded into since it was read is not emptied, and
// those that were stay so.
func TestEmptyMeetsAFold(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "a", 0, 2)
	r.fold(t, 0, "e", "b", 0, 3)
	stale := r.read(t, "e")
	r.fold(t, 1, "e", "b", 3, 4)
	if err := r.empty(stale, nil); !errors.Is(err, parts.ErrMoved) {
		t.Fatalf("over a newer part: %v", err)
	}
	for _, p := range r.read(t, "e") {
		if p.StreamShard == "b" && p.Value.Events != 4 {
			t.Errorf("the part that moved has %d events", p.Value.Events)
		}
	}
	if err := r.empty(r.read(t, "e"), nil); err != nil {
		t.Fatal(err)
	}
	r.check(t, "e")
	r.fold(t, 0, "e", "b", 0, 4)
	r.check(t, "e")
}

// TestEmptyMeetsAMerge checks that nothing is forgotten if a query saw half of a merge: the emptied fragments, and not
// yet their sum. Such a merged fragment may be the first, or follow an empty one.
func TestEmptyMeetsAMerge(t *testing.T) {
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
			t.Fatalf("over half of a merge: %v", err)
		}
		if err := r.empty(r.read(t, "e"), nil); err != nil {
			t.Fatal(err)
		}
		r.check(t, "e")
	}
}
