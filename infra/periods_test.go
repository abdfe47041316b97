package infra

import (
	"fmt"
	"strings"
	"testing"
)

// TestLateData checks that an alarm which fills missing data needs fewer datapoints than it has periods. Otherwise zeros in
// place of late data would always keep it off.
func TestLateData(t *testing.T) {
	filled := 0
	for _, tm := range []*template{deployed(t), with(t, attached)} {
		for name, a := range alarms(t, tm) {
			if !strings.Contains(text(a["Metrics"]), "FILL(") {
				continue
			}
			if filled++; a.number("DatapointsToAlarm") >= a.number("EvaluationPeriods") {
				t.Errorf("%s needs %v of %v periods, of %s", name, a["DatapointsToAlarm"], a["EvaluationPeriods"], text(a["Metrics"]))
			}
		}
	}
	if filled == 0 {
		t.Error("no alarm fills missing data, so this test checks nothing")
	}
}

// periodOf returns an alarm's period in seconds, and checks that all its metrics have it.
func periodOf(t *testing.T, a object) float64 {
	t.Helper()
	period := a.number("Period")
	for _, o := range a.objects("Metrics") {
		of := o.number("Period") + o.object("MetricStat").number("Period")
		if period != 0 && of != 0 && of != period {
			t.Errorf("periods of %v and %v s in %v", period, of, a)
		}
		period = max(period, of)
	}
	return period
}

// TestPeriods checks the threshold, the periods and their length of alarms with periods of more than a minute.
func TestPeriods(t *testing.T) {
	want := map[string]string{
		"stream-shards": "128 1 900", "shard-changes": "50 1 300", "layers-not-done": "1 6 300", "shrink-not-done": "1 6 300", "compact-not-done": "1 3 3600", "boards-not-done": "1 6 300",
		"hotkeys-tasks-dropped": "3 1 3600", "aggregator-tasks-dropped": "3 1 3600", "hotkeys-not-polling": "1 6 300", "aggregator-not-polling": "1 6 300",
		"hotkeys-events-not-polling": "1 6 300", "aggregator-events-not-polling": "1 6 300",
	}
	got := alarms(t, deployed(t))
	for name, want := range want {
		a := got["hotshard-"+name]
		if got := fmt.Sprint(a.number("Threshold"), a.number("EvaluationPeriods"), periodOf(t, a)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for name, a := range got {
		if _, listed := want[strings.TrimPrefix(name, "hotshard-")]; !listed && periodOf(t, a) != 60 {
			t.Errorf("%s has a period of %v s, want 60", name, periodOf(t, a))
		}
	}
}
