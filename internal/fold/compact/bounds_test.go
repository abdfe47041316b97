package compact

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// TestMergesArePaced: a run ends when what it wrote is not to be followed by more
// within its time, and the next goes on with the same page.
func TestMergesArePaced(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Budget, o.WriteUnits = time.Minute, 1 })
	wide := bucketAt("wide", r.ago(60*day))
	for i := range parts.MaxReplaced + 50 {
		r.part(t, wide, fmt.Sprintf("s%03d", i), 1, r.ago(59*day))
	}
	r.want(t, Answer{Buckets: 1, Merged: parts.MaxReplaced})
	r.want(t, Answer{Buckets: 1, Merged: 50})
	r.want(t, Answer{Done: true})
}

// TestFieldsOfAMergedPart: there are only so many, and what would bring more stays,
// so that readers see them all.
func TestFieldsOfAMergedPart(t *testing.T) {
	r := newRig(t, nil)
	b := bucketAt("e", r.ago(60*day))
	const stored = 12
	for i := range stored {
		p := measures.Part{}.Clone()
		numbers := map[string]string{}
		for n := range measures.MaxMeasures {
			numbers[fmt.Sprint("f", i, "-", n)] = "1"
		}
		p.Add(numbers)
		r.keep(t, b, fmt.Sprintf("s%03d", i), p, r.ago(59*day))
	}
	const fit = parts.MaxFields / measures.MaxMeasures
	r.want(t, Answer{Buckets: 1, Merged: fit, Done: true})
	r.clock = r.clock.Add(roundEvery)
	r.want(t, Answer{Done: true})
	read, err := r.events.Read(t.Context(), b.Key())
	if err != nil {
		t.Fatal(err)
	}
	var sum measures.Part
	for _, p := range read {
		if len(p.Value.Measures) > parts.MaxFields {
			t.Errorf("%s has %d fields", p.StreamShard, len(p.Value.Measures))
		}
		sum.Merge(p.Value)
	}
	if len(sum.Measures) != stored*measures.MaxMeasures || sum.Events != stored || sum.Skipped != 0 {
		t.Errorf("%d fields of %d events, and %d skipped", len(sum.Measures), sum.Events, sum.Skipped)
	}
}

// TestWhatCanNotBeMerged is logged and left, in each round, and is no failure.
func TestWhatCanNotBeMerged(t *testing.T) {
	r := newRig(t, nil)
	b := bucketAt("e", r.ago(60*day))
	r.part(t, b, "a", 1, r.ago(59*day))
	r.part(t, b, "b", 2, r.ago(59*day))
	r.on.transact = func() error { return &smithy.GenericAPIError{Code: "ValidationException", Message: "too large"} }
	for range 2 {
		r.want(t, Answer{Done: true})
		r.clock = r.clock.Add(roundEvery)
	}
	if got := r.holding(t, b); len(got) != 2 || !strings.Contains(r.logs.String(), "too large") {
		t.Errorf("%v; logs: %s", got, &r.logs)
	}
}
