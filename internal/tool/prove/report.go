package prove

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Report has the results of a run.
type Report struct {
	Run     string    `json:"run"`
	Site    string    `json:"site"`
	Machine string    `json:"machine"` // the caller's machine
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Plan    Plan      `json:"plan"`
	Cold    *Cold     `json:"cold,omitempty"`
	Onset   *Onset    `json:"onset,omitempty"`
	Storms  []*Storm  `json:"storms,omitempty"`
	Keyed   []Keyed   `json:"keyed,omitempty"`
	// Reckoned has the units that the run counted. Billed has those that this machine's limiter or CloudWatch counted;
	// units that they don't count are 0.
	Reckoned     Units   `json:"reckoned"`
	Billed       Units   `json:"billed"`
	ReckonedCost float64 `json:"reckoned_cost_usd"` // with standing costs
	BilledCost   float64 `json:"billed_cost_usd"`
	Bound        float64 `json:"bound_usd"` // estimated before the run
	Ceiling      float64 `json:"ceiling_usd"`
	Prices       Prices  `json:"prices"`
	// Fault is the reason why the run is incomplete, or "". Nothing is left of the run unless the fault says so.
	Fault string `json:"fault,omitempty"`
}

func newReport(o Options, r Record) *Report {
	return &Report{
		Run: r.ID, Site: o.Site.About(), Machine: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Began: r.Begun, Plan: o.Plan, Bound: o.Plan.Bound(), Ceiling: o.Ceiling, Prices: DefaultPrices(),
	}
}

// recordEnd records the end of a run.
func (r *Report) recordEnd(now time.Time, m *meter, err error) {
	r.Ended, r.Reckoned = now.UTC(), m.total()
	r.ReckonedCost = m.prices.Standing + m.prices.cost(r.Reckoned)
	r.BilledCost = m.prices.Standing + m.prices.cost(r.Billed)
	if err != nil {
		r.Fault = err.Error()
	}
}

// Markdown returns the report as a page.
func (r *Report) Markdown() string {
	p := &page{}
	p.text("# What hotshard prove found\n\nRun %s, on %s. Called from %s. From %s to %s UTC.\n",
		r.Run, r.Site, r.Machine, r.Began.Format(time.DateTime), r.Ended.Format(time.TimeOnly))
	if r.Fault != "" {
		p.text("**The run is incomplete:** %s\n", strings.ReplaceAll(r.Fault, "\n", "; "))
	} else {
		p.text("Nothing of it is left: a final check found no tables and stacks with its name.\n")
	}
	r.onset(p)
	r.storms(p)
	r.keyed(p)
	r.cold(p)
	r.cost(p)
	return p.String()
}

// page builds text in Markdown.
type page struct{ strings.Builder }

func (p *page) text(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) row(cells ...any) {
	for _, c := range cells {
		fmt.Fprintf(p, "| %v ", c)
	}
	p.WriteString("|\n")
}

func (p *page) head(names ...any) {
	p.row(names...)
	p.WriteString(strings.Repeat("| --- ", len(names)) + "|\n")
}

// after formats a time since a start; -1 is never.
func after(seconds float64) string {
	if seconds < 0 {
		return "never"
	}
	return fmt.Sprintf("%.1f s", seconds)
}

func (r *Report) onset(p *page) {
	if r.Onset == nil {
		return
	}
	p.text("## When one partition throttles\n\nUpdates of one item of a fresh table, 1 write unit each, without retries; %v at each rate, and after a pause of %v the last rate for %v.\n",
		r.Plan.Rung, r.Plan.Rest, r.Plan.Burst)
	p.head("offered a second", "accepted a second", "throttled %", "first throttled after", "reasons", "other errors", "write units", "new connections")
	for _, rung := range r.Onset.Rungs {
		p.rung(fmt.Sprintf("%g", rung.Rate), rung)
	}
	p.rung(fmt.Sprintf("%g, after the pause", r.Onset.Burst.Rate), r.Onset.Burst)
	p.text("")
}

func (p *page) rung(name string, r Rung) {
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		reasons = append(reasons, fmt.Sprintf("%s (%d)", reason, r.Reasons[reason]))
	}
	p.row(name, fmt.Sprintf("%.1f", r.Accepted), fmt.Sprintf("%.1f", r.Throttled), after(r.First), strings.Join(reasons, ", "), r.Other, fmt.Sprintf("%.0f", r.Units), r.Opened)
}

func (r *Report) storms(p *page) {
	if len(r.Storms) == 0 {
		return
	}
	p.text("## Storms on one key\n\n%g times a partition's limit, for %v, after %v at half of it. The caller retries no call. N is the shard count, with the seconds after the start of the storm at which it took effect. Found is the value of a strong read afterwards: all accepted calls, and perhaps some with an unknown outcome.\n",
		r.Plan.Times, r.Plan.Storm, r.Plan.Warm)
	p.head("storm", "calls", "not accepted %", "throttled", "no container", "other", "calm after", "named in /v1/hot-keys after", "N", "p50, p99", "accepted, found", "new connections")
	for _, s := range r.Storms {
		found := "not counted"
		if s.Found >= 0 {
			found = fmt.Sprint(s.Found)
		}
		o := s.Offered
		p.row(fmt.Sprintf("%s, %g a second", s.Kind, s.Rate), o.Offered, fmt.Sprintf("%.1f", o.failedShare()), o.Throttled, o.Early, others(o), after(o.Calm), after(s.Named)+" "+s.Status,
			steps(s.Steps), fmt.Sprintf("%.0f ms, %.0f ms", o.P50, o.P99), fmt.Sprintf("%d, %s", s.Accepted, found), fmt.Sprintf("%d of %d calls", s.Opened, s.Calls))
	}
	p.text("")
}

// others formats the results that are neither accepted nor throttled.
func others(o Offered) string {
	texts := []string{fmt.Sprint(o.Other)}
	for _, what := range slices.Sorted(maps.Keys(o.Others)) {
		texts = append(texts, fmt.Sprintf("%s: %d", what, o.Others[what]))
	}
	return strings.Join(texts, "; ")
}

func steps(list []Step) string {
	var texts []string
	for _, s := range list {
		texts = append(texts, fmt.Sprintf("%d (%.1f s, %s)", s.Shards, s.At, s.By))
	}
	if texts == nil {
		return "1"
	}
	return strings.Join(texts, ", ")
}

func (r *Report) keyed(p *page) {
	if len(r.Keyed) == 0 {
		return
	}
	p.text("## Keyed calls on one counter\n\nEach is a transaction. The function retries conflicts within its deadline; %v at each rate, a counter each.\n", r.Plan.KeyedFor)
	p.head("offered a second", "calls", "not accepted %", "throttled", "no container", "other", "N", "p50, p99", "accepted, found")
	for _, k := range r.Keyed {
		o := k.Offered
		p.row(fmt.Sprintf("%g", k.Rate), o.Offered, fmt.Sprintf("%.1f", o.failedShare()), o.Throttled, o.Early, others(o), steps(k.Steps),
			fmt.Sprintf("%.0f ms, %.0f ms", o.P50, o.P99), fmt.Sprintf("%d, %d", o.Accepted, k.Found))
	}
	p.text("")
}

func (r *Report) cold(p *page) {
	if r.Cold == nil {
		return
	}
	b := r.Cold.Burst
	p.text("## Cold starts, as a caller sees them\n\nThe first call took %.0f ms; %d calls after it, in a row, %.1f ms (median). Then %d at once: median %.0f ms, the longest %.0f ms, %d not accepted. All these took %d connections.\n",
		r.Cold.First, warmCalls, r.Cold.Warm, b.Offered, b.P50, b.Longest, b.Offered-b.Accepted, r.Cold.Opened)
}

func (r *Report) cost(p *page) {
	p.text("## What it cost\n\nBefore the run the estimate was at most $%.2f, and the ceiling was $%.2f. Reckoned are the units of all calls of the run, with a call's response time as the function's duration. "+
		"Billed are the units that this machine's limiter or CloudWatch counted, which both omit some. Prices are assumptions; the deployment's fixed costs are $%.2f of them.\n",
		r.Bound, r.Ceiling, r.Prices.Standing)
	p.head("units", "reckoned", "billed")
	for _, row := range []struct {
		what             string
		reckoned, billed float64
	}{
		{"write units", r.Reckoned.WriteUnits, r.Billed.WriteUnits}, {"read units", r.Reckoned.ReadUnits, r.Billed.ReadUnits},
		{"API requests", r.Reckoned.Requests, r.Billed.Requests}, {"invocations", r.Reckoned.Invocations, r.Billed.Invocations},
		{"GB-seconds", r.Reckoned.GBSeconds, r.Billed.GBSeconds},
	} {
		p.row(row.what, fmt.Sprintf("%.0f", row.reckoned), fmt.Sprintf("%.0f", row.billed))
	}
	p.row("USD", fmt.Sprintf("%.2f", r.ReckonedCost), fmt.Sprintf("%.2f", r.BilledCost))
}
