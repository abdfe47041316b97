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

// TestMergesArePaced checks that a run ends when its rate allows no more writes in its time. The next run
// continues with the same page.
func TestMergesArePaced(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Budget, o.WriteUnits = time.Minute, 1 })
	wide := bucketAt("wide", r.ago(60*day))
	for i := range parts.MaxReplaced + 50 {
		r.fragment(t, wide, fmt.Sprintf("s%03d", i), 1, r.ago(59*day))
	}
	r.want(t, Answer{Buckets: 1, Merged: parts.MaxReplaced})
	r.want(t, Answer{Buckets: 1, Merged: 50})
	r.want(t, Answer{Done: true})
}

// TestFieldsOfAMergedFragment checks that a merged fragment has at most parts.MaxFields fields. Fragments
// that would add more stay, so that readers see all fields.
func TestFieldsOfAMergedFragment(t *testing.T) {
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
		r.store(t, b, fmt.Sprintf("s%03d", i), p, r.ago(59*day))
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
		t.Errorf("readers see %d fields of %d events, and %d skipped", len(sum.Measures), sum.Events, sum.Skipped)
	}
}

// TestRejectedMerge checks that fragments whose merge DynamoDB rejects are logged and stay. The run does
// not fail.
func TestRejectedMerge(t *testing.T) {
	r := newRig(t, nil)
	b := bucketAt("e", r.ago(60*day))
	r.fragment(t, b, "a", 1, r.ago(59*day))
	r.fragment(t, b, "b", 2, r.ago(59*day))
	r.on.transact = func() error { return &smithy.GenericAPIError{Code: "ValidationException", Message: "too large"} }
	for range 2 {
		r.want(t, Answer{Done: true})
		r.clock = r.clock.Add(roundEvery)
	}
	if got := r.holding(t, b); len(got) != 2 || !strings.Contains(r.logs.String(), "too large") {
		t.Errorf("events by fragment %v, want both; logs: %s", got, &r.logs)
	}
}
