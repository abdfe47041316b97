package storm

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// print writes tables in Markdown: a line for each storm, then a line for every few seconds.
func (r run) print(w io.Writer, title string) {
	fmt.Fprintf(w, "\n### %s\n\n", title)
	t := table.NewWriter()
	t.AppendHeader(table.Row{"storm at", "offered", "accepted %", "throttled by API %", "no container %", "other %", "calm after", "N", "map read units"})
	for _, o := range r.Storms {
		t.AppendRow(table.Row{
			seconds(o.At), o.Offered, one(o.Accepted), one(o.Refused), one(o.NoContainer), one(o.Other), o.calm(), r.steps(), one(r.MapReads),
		})
	}
	fmt.Fprintln(w, t.RenderMarkdown())
	fmt.Fprintf(w, "\naccepted in all %d, found %d, wrong reads %d, throttled attempts %d, write units %.0f; requests %+v\n\n",
		r.Accepted, r.Found, r.Misread, r.Throttled, r.WriteUnits, r.Functions)
	for _, o := range r.Others {
		fmt.Fprintf(w, "%d answers were %s\n\n", o.Times, o.What)
	}
	t = table.NewWriter()
	t.AppendHeader(table.Row{"second", "offered", "accepted", "throttled", "no container", "other", "N", "throttled attempts"})
	for i, s := range r.Seconds {
		changes := i > 0 && s.Storm != r.Seconds[i-1].Storm
		if s.Second%5 == 0 || changes || s.Storm && s.Second < r.Storms[0].At+6 {
			t.AppendRow(table.Row{s.Second, s.Offered, s.Accepted, s.Refused, s.NoContainer, s.Other, s.Shards, s.Throttled})
		}
	}
	fmt.Fprintln(w, t.RenderMarkdown())
}

func one(x float64) string { return fmt.Sprintf("%.1f", x) }
func seconds(n int) string { return fmt.Sprintf("%d s", n) }
func (o outcome) calm() string {
	return map[bool]string{true: "never", false: seconds(o.Calm)}[o.Calm < 0]
}

// steps returns the shard counts with their times after the first storm's start.
func (r run) steps() string {
	var list []string
	for _, s := range r.Steps {
		list = append(list, fmt.Sprintf("%d (%.1f s)", s.Shards, s.At))
	}
	return cmp.Or(strings.Join(list, ", "), "1")
}

// summarize writes a line for each storm of a scenario, with the median and the worst of its runs.
func summarize(w io.Writer, name string, runs []run) {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"scenario", "runs", "accepted %: median, worst", "throttled by API %", "no container %", "calm after: median, worst", "write shards (since when) in the median run", "runs without a difference"})
	right := 0
	for _, r := range runs {
		if r.right() {
			right++
		}
	}
	for n := range runs[0].Storms {
		slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(b.Storms[n].Accepted, a.Storms[n].Accepted) })
		middle, worst := runs[len(runs)/2], runs[len(runs)-1].Storms[n]
		o := middle.Storms[n]
		slow := slices.SortedFunc(slices.Values(runs), func(a, b run) int { return a.Storms[n].slowness() - b.Storms[n].slowness() })
		t.AppendRow(table.Row{
			fmt.Sprintf("%s, storm %d", name, n+1), len(runs), one(o.Accepted) + ", " + one(worst.Accepted), one(o.Refused), one(o.NoContainer),
			slow[len(slow)/2].Storms[n].calm() + ", " + slow[len(slow)-1].Storms[n].calm(), middle.steps(), fmt.Sprintf("%d of %d", right, len(runs)),
		})
	}
	fmt.Fprintf(w, "\n%s\n", t.RenderMarkdown())
}

// slowness returns a number to sort by Calm; never is last.
func (o outcome) slowness() int {
	if o.Calm < 0 {
		return 1 << 30
	}
	return o.Calm
}
