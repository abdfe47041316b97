package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/audit"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/terminal"
)

// AuditCmd is hotshard audit.
type AuditCmd struct {
	deployment
	targets
	Repair bool `help:"Write what the summaries should have. Folds and writes may go on meanwhile."`
}

// Validate finds faults of the command line.
func (c *AuditCmd) Validate() error {
	if c.Fewer && !c.Repair {
		return errors.New("--fewer is for --repair")
	}
	return errors.Join(c.deployment.Validate(), c.targets.Validate())
}

// Run audits, and prints what differs.
func (c *AuditCmd) Run(ctx context.Context, std streams) error {
	o := c.options()
	o.Repair = c.Repair
	report, err := c.audit(ctx, std, o, c.targets)
	if err != nil {
		return err
	}
	if n := report.Bad(); n > 0 {
		return fmt.Errorf("%d of %d summaries are not right or not known to be", n, report.Targets)
	}
	return nil
}

// deployment says which tables are audited, and by which settings they are kept.
type deployment struct {
	tables
	Rules           rollup.Rules  `env:"HOTSHARD_ROLLUP_RULES" default:"[{\"every\":\"1h\"}]" placeholder:"JSON" help:"Which events are rolled up, as the aggregator has it. Default: all, by the hour."`
	EventRetention  time.Duration `env:"HOTSHARD_EVENT_RETENTION" default:"720h" help:"How long events are kept, as ingest has it; the shortest that it had. 0 is for ever. What is older is not compared."`
	RollupRetention time.Duration `env:"HOTSHARD_ROLLUP_RETENTION" default:"0" help:"How long event rollups are kept, as the aggregator has it. 0 is for ever."`
	IndexLag        time.Duration `env:"HOTSHARD_BOARD_RECHECK" default:"30s" help:"The index of boards is never older than this. A board that differs takes at least so long."`
	Wait            time.Duration `default:"30s" help:"For folds that may be on their way, up to 1h."`
	Fewer           bool          `help:"Repair also rollups that have more events than there are items. If those were deleted or have expired, the rollups then forget them."`
	Concurrency     int           `default:"32" help:"Summaries audited at a time, up to 1000."`
	JSON            bool          `name:"json" help:"Print the result as JSON."`
}

// Validate finds faults of the command line.
func (d *deployment) Validate() error {
	switch {
	case d.EventRetention != 0 && d.EventRetention < time.Hour:
		return fmt.Errorf("--event-retention %v: want 0 or at least 1h", d.EventRetention)
	case d.RollupRetention != 0 && d.RollupRetention < 24*time.Hour:
		return fmt.Errorf("--rollup-retention %v: want 0 or at least 24h", d.RollupRetention)
	case d.Wait < 0 || d.Wait > time.Hour:
		return fmt.Errorf("--wait %v: want 0 to 1h", d.Wait)
	case d.IndexLag < time.Second || d.IndexLag > time.Hour:
		return fmt.Errorf("--index-lag %v: want 1s to 1h", d.IndexLag)
	case d.Concurrency < 1 || d.Concurrency > 1000:
		return fmt.Errorf("--concurrency %d: want 1 to 1000", d.Concurrency)
	}
	return d.tables.Validate()
}

func (d *deployment) options() audit.Options {
	return audit.Options{
		Names: schema.NamesFor(d.Prefix), Rules: d.Rules, EventRetention: d.EventRetention, RollupRetention: d.RollupRetention,
		Fewer: d.Fewer, IndexLag: d.IndexLag, Wait: d.Wait, Concurrency: d.Concurrency,
	}
}

func (d *deployment) auditor(ctx context.Context, o audit.Options) (*audit.Auditor, error) {
	client, err := d.client(ctx)
	if err != nil {
		return nil, err
	}
	return audit.New(o, client)
}

// targets are those that the command line names.
type targets struct {
	Type string    `enum:"counter,entity,board," default:"" placeholder:"TYPE" help:"With --name: counter, entity or board."`
	Name string    `help:"With --type: audit this one only. Default: all counters and boards, and all events that are rolled up."`
	From time.Time `placeholder:"TIME" help:"RFC 3339: of events, only the hours or days that start then or later; of a board, days and weeks from then on, 38 days back by default."`
	To   time.Time `placeholder:"TIME" help:"RFC 3339: of events, only the hours or days that end then or earlier; of a board, days and weeks before."`
	scanning
}

// Validate finds faults of the command line.
func (t *targets) Validate() error {
	switch {
	case (t.Type == "") != (t.Name == ""):
		return errors.New("--type and --name are used together")
	case t.Type == string(schema.Counter) && !(t.From.IsZero() && t.To.IsZero()):
		return errors.New("--from and --to are for events and boards: a counter has no time")
	case !t.From.IsZero() && !t.To.IsZero() && !t.From.Before(t.To):
		return errors.New("--from must be before --to")
	}
	return t.scanning.Validate()
}

func (t *targets) source(a *audit.Auditor) (audit.Source, error) {
	r := audit.Range{From: t.From, To: t.To}
	switch schema.Type(t.Type) {
	case schema.Counter:
		return audit.List(schema.Target{Base: schema.BaseKey{Type: schema.Counter, Name: t.Name}}), nil
	case schema.Entity:
		list, err := a.Entity(t.Name, r)
		return audit.List(list...), err
	case schema.Board:
		list, err := a.Board(t.Name, r)
		return audit.List(list...), err
	}
	return a.All(r), nil
}

// audit audits targets, and prints what it found, also after an error.
func (d *deployment) audit(ctx context.Context, std streams, o audit.Options, t targets) (*audit.Report, error) {
	o.ReadUnits = t.ReadUnits
	a, err := d.auditor(ctx, o)
	if err != nil {
		return nil, err
	}
	source, err := t.source(a)
	if err != nil {
		return nil, err
	}
	progress, finish := terminal.Progress(std.err, -1, "summaries")
	report, err := a.Run(ctx, source, func(schema.Target, audit.Result) { progress(1) })
	finish()
	if err = d.explain(err); err != nil && report.Targets == 0 {
		return nil, err
	}
	return report, errors.Join(err, d.print(std.out, report))
}

func (d *deployment) print(out io.Writer, report *audit.Report) error {
	if d.JSON {
		return printJSON(out, report)
	}
	var text strings.Builder
	if len(report.Findings) > 0 {
		fmt.Fprintln(&text, findingsTable(report.Findings))
	}
	if report.More > 0 {
		fmt.Fprintf(&text, "and %d more\n", report.More)
	}
	fmt.Fprintf(&text, "summaries: %d looked at, %d right, %d repaired, %d not right or not known to be, %d too old to tell, %d still open\n",
		report.Targets, report.Right, report.Repaired, report.Bad(), report.TooOld, report.Open)
	fmt.Fprintf(&text, "begun at %s\n", report.Begun.Format(time.RFC3339))
	_, err := io.WriteString(out, text.String())
	return err
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func findingsTable(list []audit.Finding) string {
	t := terminal.NewTable("type", "name", "of", "found", "summary", "items", "why")
	for _, f := range list {
		of := f.Bucket + f.Period // it has one of them, or none
		if f.WriteShard != nil {
			of = fmt.Sprintf("write shard %d", *f.WriteShard)
		}
		found := string(f.State)
		if f.Repaired {
			found += ", repaired"
		}
		summary, items := f.Texts()
		t.Row(f.Type, terminal.Name(f.Name), of, found, summary, items, f.Detail)
	}
	t.SuppressEmptyColumns()
	return t.Render()
}
