package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// AuditCmd is hotshard audit.
type AuditCmd struct {
	deployment
	targets
	Repair bool `help:"Repair the summaries that differ. Writes and folds may continue meanwhile."`
}

// Validate returns an error if the flags are invalid.
func (c *AuditCmd) Validate() error {
	if c.Fewer && !c.Repair {
		return errors.New("--fewer needs --repair")
	}
	return errors.Join(c.deployment.Validate(), c.targets.Validate())
}

// Run audits, and prints the differences.
func (c *AuditCmd) Run(ctx context.Context, std streams) error {
	o := c.options()
	o.Repair = c.Repair
	report, err := c.audit(ctx, std, o, c.targets)
	if err != nil {
		return err
	}
	if n := report.Bad(); n > 0 {
		return fmt.Errorf("%d of %d summaries are wrong or unknown", n, report.Targets)
	}
	return nil
}

// deployment has the flags for the audited tables and the functions' settings.
type deployment struct {
	tables
	Rules           fold.Rules    `env:"HOTSHARD_ROLLUP_RULES" default:"[{\"every\":\"1h\"}]" placeholder:"JSON" help:"The aggregator's rollup rules. Default: all events, by the hour."`
	EventRetention  time.Duration `env:"HOTSHARD_EVENT_RETENTION" default:"720h" help:"The shortest event retention that ingest ever had. 0 means for ever. Older events are not compared."`
	RollupRetention time.Duration `env:"HOTSHARD_ROLLUP_RETENTION" default:"0" help:"The aggregator's retention of event rollups. 0 means for ever."`
	IndexLag        time.Duration `default:"30s" help:"Upper bound on the lag of the boards' index. A board that differs takes at least this long."`
	Wait            time.Duration `default:"30s" help:"How long to wait for folds in flight, up to 1h."`
	Fewer           bool          `help:"Also repair rollups that count more events than there are items. Events that were deleted or have expired are then no longer counted."`
	Concurrency     int           `default:"32" help:"Summaries audited in parallel, up to 1000."`
	JSON            bool          `name:"json" help:"Print the result as JSON."`
}

// Validate returns an error if the flags are invalid.
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

func (d *deployment) options() rebuild.Options {
	return rebuild.Options{
		Names: schema.NamesFor(d.Prefix), Rules: d.Rules, EventRetention: d.EventRetention, RollupRetention: d.RollupRetention,
		Fewer: d.Fewer, IndexLag: d.IndexLag, Wait: d.Wait, Concurrency: d.Concurrency,
	}
}

func (d *deployment) auditor(ctx context.Context, o rebuild.Options) (*rebuild.Checker, error) {
	client, err := d.client(ctx)
	if err != nil {
		return nil, err
	}
	return rebuild.New(o, client), nil
}

// targets has the flags that select summaries.
type targets struct {
	Type string    `enum:"${summarized}," default:"" placeholder:"TYPE" help:"With --name: ${summarized_text}."`
	Name string    `help:"With --type: only this key. Default: all counters and boards, and all events that are rolled up."`
	From time.Time `placeholder:"TIME" help:"RFC 3339. For events: only hours or days that start then or later. For boards: days and weeks from then on; default 38 days back."`
	To   time.Time `placeholder:"TIME" help:"RFC 3339. For events: only hours or days that end then or earlier. For boards: days and weeks before."`
	scanning
}

// Validate returns an error if the flags are invalid.
func (t *targets) Validate() error {
	switch {
	case (t.Type == "") != (t.Name == ""):
		return errors.New("--type and --name are used together")
	case t.Type != "" && kind.Of(kind.Kind(t.Type)).Bucket == kind.NoBucket && !(t.From.IsZero() && t.To.IsZero()):
		return errors.New("--from and --to are for events and boards: a counter has no time")
	case !t.From.IsZero() && !t.To.IsZero() && !t.From.Before(t.To):
		return errors.New("--from must be before --to")
	}
	return t.scanning.Validate()
}

func (t *targets) source(a *rebuild.Checker) (rebuild.Source, error) {
	r := rebuild.Range{From: t.From, To: t.To}
	if t.Type == "" {
		return a.All(r), nil
	}
	list, err := a.Targets(schema.BaseKey{Type: kind.Kind(t.Type), Name: t.Name}, r)
	return rebuild.List(list...), err
}

// audit audits targets, and prints its findings, also after an error.
func (d *deployment) audit(ctx context.Context, std streams, o rebuild.Options, t targets) (*rebuild.Report, error) {
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
	report, err := a.Run(ctx, source, func(schema.Target, rebuild.Result) { progress(1) })
	finish()
	if err = d.explain(err); err != nil && report.Targets == 0 {
		return nil, err
	}
	return report, errors.Join(err, d.print(std.out, report))
}

func (d *deployment) print(out io.Writer, report *rebuild.Report) error {
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
	fmt.Fprintf(&text, "summaries: %d checked, %d right, %d repaired, %d wrong or unknown, %d too old to judge, %d still open\n",
		report.Targets, report.Right, report.Repaired, report.Bad(), report.TooOld, report.Open)
	fmt.Fprintf(&text, "started at %s\n", report.Begun.Format(time.RFC3339))
	_, err := io.WriteString(out, text.String())
	return err
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func findingsTable(list []rebuild.Finding) string {
	t := terminal.NewTable("type", "name", "of", "found", "summary", "items", "why")
	for _, f := range list {
		of := f.Bucket + f.Period // a finding has at most one of them
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
