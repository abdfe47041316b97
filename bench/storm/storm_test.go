package storm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/tool/system"
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
		o := system.Options{
			Addr: "127.0.0.1:0", Prefix: prefix, Window: 10 * time.Second, Control: "act", Limits: s.Limits,
			Lambda: s.Served.inProcess(),
		}
		if err := o.Validate(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// TestChoose checks which scenarios names and patterns choose, without duplicates. Unknown names are errors.
func TestChoose(t *testing.T) {
	for names, want := range map[string]string{
		"counter10x-40":              "counter10x-40",
		"event10x-40,counter10x-40":  "counter10x-40 event10x-40",
		"quiet-*":                    "quiet-4 quiet-8 quiet-16",
		"limit10x-40,limit10x-*":     "limit10x-40 limit10x-200 limit10x-one",
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

// TestGrowth checks how many hot and other keys grew, when the last hot one did, and the steps of the first.
func TestGrowth(t *testing.T) {
	at := func(s string) httpapi.ShardChange { return httpapi.ShardChange{Time: s, Shards: 4, By: "ingest"} }
	var r run
	err := r.growth([]httpapi.ShardCount{
		{Name: "hot", History: []httpapi.ShardChange{at("2026-11-22T10:00:01.250Z"), at("2026-11-22T10:00:09Z")}},
		{Name: "hot-7", History: []httpapi.ShardChange{at("2026-11-22T10:00:03Z")}},
		{Name: "quiet-3", History: []httpapi.ShardChange{at("2026-11-22T10:00:30Z")}},
	}, time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC))
	if err != nil || r.Grown != 2 || r.GrownToo != 1 || r.GrownAt != 3 || r.steps() != "4 (1.2 s), 4 (9.0 s)" {
		t.Errorf("the growth is %+v, steps %s, %v", r, r.steps(), err)
	}
}

// TestSummary checks that a folder's summary has the median and the worst of its runs.
func TestSummary(t *testing.T) {
	folder := t.TempDir()
	m := measurement{Scenario: "counter10x-40"}
	for _, accepted := range []float64{99.4, 84.5, 97.25} {
		o := outcome{Offered: 8400, Accepted: accepted, Refused: 100 - accepted, Calm: int(100 - accepted)}
		if accepted < 90 {
			o.Calm = -1
		}
		m.Runs = append(m.Runs, run{Storms: []outcome{o}, Accepted: 10, Found: 10, Steps: []step{{1.2, int(accepted), "ingest"}}})
	}
	m.Runs[1].Found = 11
	m.Runs[2].Seconds = []second{{Storm: true, Offered: 10, Accepted: 4}, {Second: 1, Storm: true, Offered: 10, Accepted: 10}}
	if err := m.write(folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "summary.md"))
	if chart, err := os.ReadFile(filepath.Join(folder, "storm.svg")); err == nil && !strings.Contains(string(chart), "counter10x-40") || err != nil {
		t.Errorf("the chart has no counter10x-40, %v", err)
	}
	want := "| counter10x-40 | 3 | 97.2, 84.5 | 2.8 | 0.0 | 2 s, never | 97 (1.2 s) | 0 | 0.0 | 2 of 3 |"
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}
