package storm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// measurement has all runs of a scenario.
type measurement struct {
	Scenario string `json:"scenario"`
	About    string `json:"about"`
	Runs     []run  `json:"runs"`
}

// print writes tables in Markdown: a line for each storm, then a line for every few seconds.
func (r run) print(w io.Writer, title string) {
	fmt.Fprintf(w, "\n### %s\n\n", title)
	t := table.NewWriter()
	t.AppendHeader(table.Row{"storm at", "offered", "accepted %", "throttled by API %", "no container %", "other %", "calm after", "N", "quiet keys that grew", "quiet throttled %", "map read units"})
	for _, o := range r.Storms {
		t.AppendRow(table.Row{
			seconds(o.At), o.Offered, one(o.Accepted), one(o.Refused), one(o.NoContainer), one(o.Other), o.calm(), r.steps(), r.GrownToo, one(o.QuietRefused), one(r.MapReads),
		})
	}
	fmt.Fprintln(w, t.RenderMarkdown())
	fmt.Fprintf(w, "\naccepted in all %d, found %d, wrong reads %d, throttled attempts %d, write units %.0f; %d stormed keys grew, the last at %.1f s; containers %+v, quota %+v, reserved %+v\n\n",
		r.Accepted, r.Found, r.Misread, r.Throttled, r.WriteUnits, r.Grown, r.GrownAt, r.Containers, r.Quota, r.Reserved)
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

// steps returns the first key's shard counts with their times after the first storm's start.
func (r run) steps() string {
	var list []string
	for _, s := range r.Steps {
		list = append(list, fmt.Sprintf("%d (%.1f s)", s.Shards, s.At))
	}
	return cmp.Or(strings.Join(list, ", "), "1")
}

// write writes the raw results, and the summary of all results in the folder.
func (m measurement) write(folder string) error {
	text, err := json.MarshalIndent(m, "", " ")
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, m.Scenario+".json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		return err
	}
	return summarize(folder)
}

// preamble explains the columns of a summary.
const preamble = `A scenario's name has the kind of key, the multiple of a partition's limit at which one key is written, and the number of
containers of one request each. "No container" are requests that found none free. A storm is calm when all later seconds
accept 99 % or more. Write shards have their seconds since the storm's start. A run is without a difference if strong
reads find all accepted writes, and none that certainly failed.

`

// summarize writes a line for each scenario in the folder, with the median and worst of its runs.
func summarize(folder string) error {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"scenario", "runs", "accepted %: median, worst", "throttled by API %", "no container %", "calm after: median, worst", "write shards (since when) in the median run", "quiet keys that grew", "RCU on the shard map", "runs without a difference"})
	results := map[string]measurement{}
	for _, s := range scenarios() {
		text, err := os.ReadFile(filepath.Join(folder, s.Name+".json"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var m measurement
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			return err
		}
		m.rows(t)
		results[s.Name] = m
	}
	if err := os.WriteFile(filepath.Join(folder, "summary.md"), []byte(preamble+t.RenderMarkdown()+"\n"), 0o644); err != nil {
		return err
	}
	return draw(filepath.Join(folder, "storm.svg"), results)
}

// runs returns the scenario's runs, sorted by the share that the first storm accepted, highest first.
func (m measurement) runs() []run {
	return slices.SortedFunc(slices.Values(m.Runs), func(a, b run) int { return cmp.Compare(b.Storms[0].Accepted, a.Storms[0].Accepted) })
}

// rows adds one row for each storm of the scenario.
func (m measurement) rows(t table.Writer) {
	for n := range m.Runs[0].Storms {
		runs := slices.Clone(m.Runs)
		slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(b.Storms[n].Accepted, a.Storms[n].Accepted) })
		middle, last := runs[len(runs)/2], runs[len(runs)-1].Storms[n]
		o := middle.Storms[n]
		name := m.Scenario
		if len(m.Runs[0].Storms) > 1 {
			name += fmt.Sprintf(", storm %d", n+1)
		}
		slow := slices.SortedFunc(slices.Values(runs), func(a, b run) int { return a.Storms[n].slowness() - b.Storms[n].slowness() })
		right, grown := 0, 0
		for _, r := range runs {
			grown = max(grown, r.GrownToo)
			if r.right() {
				right++
			}
		}
		t.AppendRow(table.Row{
			name, len(runs), one(o.Accepted) + ", " + one(last.Accepted), one(o.Refused), one(o.NoContainer),
			slow[len(slow)/2].Storms[n].calm() + ", " + slow[len(slow)-1].Storms[n].calm(), middle.steps(), grown, one(middle.MapReads),
			fmt.Sprintf("%d of %d", right, len(runs)),
		})
	}
}

// slowness returns a number to sort by Calm; never is last.
func (o outcome) slowness() int {
	if o.Calm < 0 {
		return 1 << 30
	}
	return o.Calm
}
