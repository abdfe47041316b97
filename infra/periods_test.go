package infra

import (
	"strings"
	"testing"
)

// TestLateData checks that an alarm which fills missing data needs fewer datapoints than it has periods. Otherwise
// zeros in place of late data would always keep the alarm in the state OK.
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
