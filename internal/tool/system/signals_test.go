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

// TestThrottledEventsAreSignals checks that the throttled writes of the events table are reported too, by their
// entity.
func TestThrottledEventsAreSignals(t *testing.T) {
	s, stop := startWith(t, func(o *Options) {
		o.Limits = Limits{Partitions: 1, PartitionWCU: 5, MapWCU: 1000}
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
	if !strings.Contains(got, `"type":"entity","name":"sensor","throttled":[`) {
		t.Errorf("got %s", got)
	}
}
