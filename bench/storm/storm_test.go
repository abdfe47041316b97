package storm

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// TestScenarios checks that each scenario has a unique name, a storm, and valid options of a system.
func TestScenarios(t *testing.T) {
	names := map[string]bool{}
	for _, s := range scenarios() {
		if names[s.Name] {
			t.Errorf("two scenarios have the name %s", s.Name)
		}
		names[s.Name] = true
		if !slices.ContainsFunc(s.Phases, func(p phase) bool { return p.Storm }) {
			t.Errorf("%s has no storm", s.Name)
		}
		if strings.ContainsAny(s.Name, " /") || s.about() == "" {
			t.Errorf("the scenario %q has a space or slash in its name, or no description: %q", s.Name, s.about())
		}
		st := &storm{scenario: s}
		st.Served.Processes = false // whose binary takes long to build
		if o, err := st.options(t.Context(), 1, t.TempDir()); err != nil || o.Validate() != nil {
			t.Errorf("%s: %v, %v", s.Name, err, o.Validate())
		}
	}
}

// TestChoose checks which scenarios names choose. Unknown names are errors.
func TestChoose(t *testing.T) {
	for names, want := range map[string]string{
		"counter10x-40":              "counter10x-40",
		"event10x-40,counter10x-40":  "event10x-40 counter10x-40",
		"nothing":                    "",
		"counter10x-40,counter10x":   "",
		"counter10x-40,,event10x-40": "",
	} {
		chosen, err := choose(scenarios(), names)
		var got []string
		for _, s := range chosen {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%q chooses %v, %v; want %q", names, got, err, want)
		}
	}
	if all, err := choose(scenarios(), ""); err != nil || len(all) != len(scenarios()) {
		t.Errorf("no names choose %d scenarios, %v; want all", len(all), err)
	}
}

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

// TestRates checks that a phase's rate is linear in time, and constant after it.
func TestRates(t *testing.T) {
	p := phase{Lasting: 30 * time.Second, From: 14, To: 20}
	for after, want := range map[time.Duration]float64{0: 14, 15 * time.Second: 17, 30 * time.Second: 20, time.Minute: 20} {
		if got := p.rate(after); got != want {
			t.Errorf("the rate after %v is %g, want %g", after, got, want)
		}
	}
	if got := (phase{Lasting: time.Second, From: 5}).rate(time.Second); got != 5 {
		t.Errorf("the rate of a phase without To is %g, want 5", got)
	}
}

// TestSteps checks the times of the shard counts after the storm's start.
func TestSteps(t *testing.T) {
	list, err := steps([]httpapi.ShardChange{
		{Time: "2026-11-22T10:00:01.250Z", Shards: 4}, {Time: "2026-11-22T10:00:09Z", Shards: 16},
	}, time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC))
	if got := (run{Steps: list}).steps(); err != nil || got != "4 (1.2 s), 16 (9.0 s)" {
		t.Errorf("the steps are %s, %v", got, err)
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
