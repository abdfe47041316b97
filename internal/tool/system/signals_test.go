package system

import (
	"strings"
	"testing"
	"time"
)

// TestNoThrottledWritesBeforeTheStart checks that a server does not report 0 throttled writes for the time before it
// counted them.
func TestNoThrottledWritesBeforeTheStart(t *testing.T) {
	s, stop := startWith(t, func(o *Options) { o.Limits = Limits{Partitions: 4, PartitionWCU: 1000, MapWCU: 1000} })
	defer stop()
	now := time.Now().UTC()
	got := body(t, s.URL()+"/console/signals?step=1m&from="+now.Add(-5*time.Minute).Format(time.RFC3339)+"&to="+now.Format(time.RFC3339), "json")
	if !strings.Contains(got, `"throttled":[null,null,null,null,null`) {
		t.Errorf("got %s", got)
	}
}
