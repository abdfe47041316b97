package storm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutcomes checks the outcome of each storm, and the seconds until 99 % of the requests were accepted.
func TestOutcomes(t *testing.T) {
	calmly := func(n int) second { return second{Second: n, Offered: 100, Accepted: 100} }
	stormy := func(n, accepted, noContainer int) second {
		return second{Second: n, Storm: true, Offered: 100, Accepted: accepted, NoContainer: noContainer, Refused: 100 - accepted - noContainer}
	}
	got := storms([]second{
		calmly(0), stormy(1, 10, 40), stormy(2, 98, 1), stormy(3, 99, 0), stormy(4, 100, 0),
		calmly(5), stormy(6, 100, 0), stormy(7, 100, 0), calmly(8), stormy(9, 100, 0), stormy(10, 50, 0),
	})
	want := []outcome{
		{At: 1, Seconds: 4, Offered: 400, Accepted: 76.75, Refused: 13, NoContainer: 10.25, Calm: 2},
		{At: 6, Seconds: 2, Offered: 200, Accepted: 100},
		{At: 9, Seconds: 2, Offered: 200, Accepted: 75, Refused: 25, Calm: -1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// TestSummary checks that a summary has the median and the worst of its runs.
func TestSummary(t *testing.T) {
	var runs []run
	for _, accepted := range []float64{99.4, 84.5, 97.25} {
		o := outcome{Offered: 8400, Accepted: accepted, Refused: 100 - accepted, Calm: int(100 - accepted)}
		if accepted < 90 {
			o.Calm = -1
		}
		runs = append(runs, run{Storms: []outcome{o}, Accepted: 10, Found: 10, Steps: []step{{1.2, int(accepted)}}})
	}
	runs[1].Found = 11
	runs[2].Seconds = []second{{Storm: true, Offered: 10, Accepted: 4}, {Second: 1, Storm: true, Offered: 10, Accepted: 10}}
	var text bytes.Buffer
	summarize(&text, "counter10x-40", runs)
	want := "| counter10x-40, storm 1 | 3 | 97.2, 84.5 | 2.8 | 0.0 | 2 s, never | 97 (1.2 s) | 2 of 3 |"
	if !strings.Contains(text.String(), want) {
		t.Errorf("got %s, want %s", text.String(), want)
	}
}
