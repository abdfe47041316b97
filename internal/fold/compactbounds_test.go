package fold

import (
	"strings"
	"testing"

	"github.com/aws/smithy-go"
)

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
