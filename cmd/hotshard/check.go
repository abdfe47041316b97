package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
)

// CheckCmd is hotshard check, which compares summaries with the items that they sum up.
type CheckCmd struct {
	selectionFlags
	Repair bool `help:"Repair the summaries that differ. Writes and folds may continue meanwhile."`
	Lower  bool `help:"With --repair: also lower rollups that have more events than are stored. They then no longer count events that were deleted or have expired."`
	JSON   bool `name:"json" help:"Print the result as JSON."`

	tableFlags
	scanFlags
	Rollups         string        `copied:"rollups" env:"HOTSHARD_ROLLUPS" enum:"true,false" default:"true" help:"Whether events are rolled up, as the aggregator has it."`
	EventRetention  time.Duration `copied:"event-retention" env:"HOTSHARD_EVENT_RETENTION" default:"720h" help:"The shortest event retention that ingest ever had. 0 means for ever. Older events are not compared."`
	RollupRetention time.Duration `copied:"rollup-retention" env:"HOTSHARD_ROLLUP_RETENTION" default:"0" help:"The aggregator's retention of event rollups. 0 means for ever."`
	Wait            time.Duration `default:"90s" help:"How long to wait for folds in flight, up to 1h: longer than the setting rollupWindow."`
}

// selectionFlags has the arguments that select summaries.
type selectionFlags struct {
	Type   string    `enum:"${summarized}," default:"" placeholder:"TYPE" help:"With --name: ${summarized_text}."`
	Name   string    `help:"With --type: check only this key."`
	All    bool      `help:"Check all counters and boards, and all events that are rolled up. This is the default."`
	Failed bool      `help:"Check only the summaries that lack records, as the aggregator noted them."`
	From   time.Time `placeholder:"TIME" help:"RFC 3339. For events: only hours that start then or later. For boards: days, weeks and months from then on; default 38 days back."`
	To     time.Time `placeholder:"TIME" help:"RFC 3339. For events: only hours that end then or earlier. For boards: days, weeks and months before."`
}

// all reports whether all keys are selected.
func (s *selectionFlags) all() bool { return s.Type == "" && !s.Failed }

// Validate returns an error if the arguments are invalid.
func (s *selectionFlags) Validate() error {
	selections := 0
	for _, given := range []bool{s.All, s.Type != "", s.Failed} {
		if given {
			selections++
		}
	}
	hasTime := !s.From.IsZero() || !s.To.IsZero()
	switch {
	case (s.Type == "") != (s.Name == ""):
		return errors.New("--type and --name are used together: give both or neither")
	case selections > 1:
		return errors.New("want only one of --all, --type with --name, and --failed")
	case hasTime && s.Type != "" && schema.TraitsOf(schema.Kind(s.Type)).Bucket == schema.NoBucket:
		return errors.New("--from and --to are for events and boards: a counter has no time")
	case !s.From.IsZero() && !s.To.IsZero() && !s.From.Before(s.To):
		return errors.New("--from must be before --to")
	}
	return nil
}

// Validate returns an error if the flags are invalid.
func (c *CheckCmd) Validate() error {
	switch {
	case c.Lower && !c.Repair:
		return errors.New("--lower needs --repair")
	case c.EventRetention != 0 && c.EventRetention < time.Hour:
		return fmt.Errorf("--event-retention %v: want 0 or at least 1h", c.EventRetention)
	case c.RollupRetention != 0 && c.RollupRetention < 24*time.Hour:
		return fmt.Errorf("--rollup-retention %v: want 0 or at least 24h", c.RollupRetention)
	case c.Wait < 0 || c.Wait > time.Hour:
		return fmt.Errorf("--wait %v: want 0 to 1h", c.Wait)
	}
	return errors.Join(c.selectionFlags.Validate(), c.tableFlags.Validate(), c.scanFlags.Validate())
}

func (c *CheckCmd) options() rebuild.Options {
	return rebuild.Options{
		Names: schema.NamesFor(c.Prefix), Rollups: c.Rollups == "true", EventRetention: c.EventRetention, RollupRetention: c.RollupRetention,
		Repair: c.Repair, Lower: c.Lower, Wait: c.Wait, ReadUnits: c.ReadUnits,
	}
}

// Run checks the selected summaries and prints what it found. After an error it prints only if any work was done.
func (c *CheckCmd) Run(ctx context.Context, std streams, commands display.Commands) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	checker := rebuild.New(c.options(), client)
	work, err := c.selectWork(ctx, checker)
	if err != nil {
		return c.explainError(err)
	}
	progress, finish := progressBar(std.err, -1, "summaries")
	report, err := checker.Do(ctx, work, func(schema.Target, rebuild.Result) { progress(1) })
	finish()
	err = c.explainError(err)
	if err != nil && report.Targets+report.Forgotten == 0 {
		return err
	}
	if err := errors.Join(err, c.print(std.out, report, commands)); err != nil {
		return err
	}
	return c.verdict(report)
}

// selectWork returns the summaries and failures that the flags select.
func (c *CheckCmd) selectWork(ctx context.Context, checker *rebuild.Checker) (work rebuild.Work, err error) {
	times := rebuild.Range{From: c.From, To: c.To}
	if c.Type != "" {
		base := schema.BaseKey{Type: schema.Kind(c.Type), Name: c.Name}
		summaries, err := checker.Targets(base, times)
		if err != nil {
			return work, err
		}
		work.Rest = rebuild.List(summaries...)
		work.Failures, err = checker.FailuresOf(ctx, base)
		return work, err
	}
	if c.all() {
		work.Rest, work.All = checker.All(times), times == rebuild.Range{}
	}
	work.Failures, err = checker.Failures(ctx)
	return work, err
}

// verdict returns an error if a summary is wrong or unknown or, with --repair, a failure is left. Open summaries count if
// the flags select a key or failures. Summaries that are too old to judge count if the flags select failures, or a key with
// --from.
func (c *CheckCmd) verdict(report *rebuild.Report) error {
	bad := report.Bad()
	if !c.all() {
		bad += report.Open
	}
	if c.Failed || (c.Type != "" && !c.From.IsZero()) {
		bad += report.TooOld
	}
	summaries := display.Several(report.Targets, "summary")
	switch {
	case bad > 0 && c.Repair:
		return fmt.Errorf("%d of %s not repaired", bad, summaries)
	case bad > 0:
		return fmt.Errorf("%d of %s wrong or unknown", bad, summaries)
	case c.Repair && len(report.Left) > 0:
		return fmt.Errorf("%d of %s left: repeat check --all --repair, without --from and --to, until no summary is wrong or open", len(report.Left), display.Several(report.Failures, "failure"))
	}
	return nil
}

func (c *CheckCmd) print(out io.Writer, r *rebuild.Report, commands display.Commands) error {
	if c.JSON {
		return printJSON(out, r)
	}
	var text strings.Builder
	if len(r.Findings) > 0 {
		fmt.Fprintln(&text, findingsTable(r.Findings))
	}
	if r.More > 0 {
		fmt.Fprintf(&text, "and %d more\n", r.More)
	}
	for _, line := range nextSteps(r.Findings) {
		fmt.Fprintln(&text, line)
	}
	if len(r.Left) > 0 {
		fmt.Fprintln(&text, failuresTable(r.Left))
	}
	if slices.ContainsFunc(r.Left, func(f rebuild.Failure) bool { return !f.Known }) {
		fmt.Fprintln(&text, "Failures with a ? name no summary. A run that leaves no summary wrong or open forgets them: "+commands.Line("check", "--all", "--repair"))
	}
	if r.Failures > 0 {
		fmt.Fprintf(&text, "failures: %d, %d forgotten, %d left\n", r.Failures, r.Forgotten, len(r.Left))
	}
	fmt.Fprintf(&text, "summaries: %d checked, %d right, %d repaired, %d wrong or unknown, %d too old to judge, %d still open\n",
		r.Targets, r.Right, r.Repaired, r.Bad(), r.TooOld, r.Open)
	_, err := io.WriteString(out, text.String())
	return err
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func findingsTable(list []rebuild.Finding) string {
	t := newTable("type", "name", "of", "found", "summary", "items", "why")
	for _, f := range list {
		place := cmp.Or(f.Bucket, f.Period)
		if f.WriteShard != nil {
			place = fmt.Sprintf("write shard %d", *f.WriteShard)
		}
		state := string(f.State)
		if f.Repaired {
			state += ", repaired"
		}
		summary, items := f.Texts()
		t.Row(f.Type, nameCell(f.Name), place, state, summary, items, f.Detail)
	}
	t.SuppressEmptyColumns()
	return t.Render()
}

// nextSteps returns the states of findings that were not repaired, with what to do about each, sorted and without duplicates.
func nextSteps(list []rebuild.Finding) (lines []string) {
	for _, f := range list {
		line := string(f.State) + ": " + f.Next
		if f.Next != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func failuresTable(list []rebuild.Failure) string {
	t := newTable("failure left", "records", "last", "reason")
	for _, f := range list {
		t.Row(nameCell(f.Text), f.Records, f.Last.Format("2006-01-02T15:04:05Z"), f.Reason)
	}
	return t.Render()
}
