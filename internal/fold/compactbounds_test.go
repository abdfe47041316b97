package fold

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/fold/parts"
)

// TestMergesArePaced checks that a run ends when its rate allows no more writes in its time. The next run
// continues with the same page.
func TestMergesArePaced(t *testing.T) {
	r := newCompactRig(t, func(c *compactor) { c.budget, c.writeUnits = time.Minute, 1 })
	wide := bucketAt("wide", r.ago(60*day))
	for i := range parts.MaxReplaced + 50 {
		r.fragment(t, wide, fmt.Sprintf("s%03d", i), 1, r.ago(59*day))
	}
	r.want(t, compactAnswer{Buckets: 1, Merged: parts.MaxReplaced})
	r.want(t, compactAnswer{Buckets: 1, Merged: 50})
	r.want(t, compactAnswer{Done: true})
}

// TestRejectedMerge checks that fragments whose merge DynamoDB rejects are logged and stay. The run does
// not fail.
func TestRejectedMerge(t *testing.T) {
	r := newCompactRig(t, nil)
	b := bucketAt("e", r.ago(60*day))
	r.fragment(t, b, "a", 1, r.ago(59*day))
	r.fragment(t, b, "b", 2, r.ago(59*day))
	r.on.transact = func() error { return &smithy.GenericAPIError{Code: "ValidationException", Message: "too large"} }
	for range 2 {
		r.want(t, compactAnswer{Done: true})
		r.clock = r.clock.Add(roundEvery)
	}
	if got := r.holding(t, b); len(got) != 2 || !strings.Contains(r.logs.String(), "too large") {
		t.Errorf("events by fragment %v, want both; logs: %s", got, &r.logs)
	}
}
