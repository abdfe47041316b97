package system

import (
	"strings"
	"testing"
	"time"
)

// TestThrottledEventsAreSignals checks that throttled writes of the events table are reported by entity, and that those of
// the time before the start are null instead of 0.
func TestThrottledEventsAreSignals(t *testing.T) {
	s, stop := startWith(t, func(o *Options) {
		o.Limits = Limits{Partitions: 1, PartitionWCU: 5}
		o.Control = "observe"
	})
	defer stop()
	now := time.Now().UTC()
	events := strings.Repeat(`{"entity":"sensor"},`, 40)
	status, answer := send(t, "POST", s.URL()+"/v1/events", `{"events":[`+strings.TrimSuffix(events, ",")+`]}`)
	if status != 200 && status != 429 {
		t.Fatalf("%d %s", status, answer)
	}
	got := body(t, s.URL()+"/console/signals?step=1m&from="+now.Format(time.RFC3339)+"&to="+now.Add(time.Minute).Format(time.RFC3339), "json")
	if want := `"type":"entity","name":"sensor","throttled":[`; !strings.Contains(got, want) {
		t.Errorf("signals %s, want %s", got, want)
	}
	got = body(t, s.URL()+"/console/signals?step=1m&from="+now.Add(-5*time.Minute).Format(time.RFC3339)+"&to="+now.Format(time.RFC3339), "json")
	if want := `"throttled":[null,null,null,null,null`; !strings.Contains(got, want) {
		t.Errorf("signals %s, want %s", got, want)
	}
}
