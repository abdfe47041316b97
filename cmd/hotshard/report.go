package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/base/jsontime"
	"github.com/hotshard/hotshard/internal/base/throttles"
	"github.com/hotshard/hotshard/internal/base/throttles/collect"
	"github.com/hotshard/hotshard/internal/tool/console"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/internal/tool/report"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// ReportCmd is hotshard report.
type ReportCmd struct {
	heatFrom
	Since  time.Duration `default:"24h" help:"How far back to look: 1m to 24h, with --stack to 168h."`
	Output string        `short:"o" required:"" placeholder:"FILE.html" type:"path" help:"Path of the report. An existing file is replaced when the report is complete."`
	Index  string        `placeholder:"NAME" help:"With --stack: report on the partition keys of this index."`
	Sample float64       `default:"0.02" help:"With --table: the share of the stream to read, 0.0005 to 1. A stream shard is read once a second, so a share of 0.02 of 24h takes up to half an hour."`
	Seed   uint64        `help:"With --table: seed of the random choice of seconds. Default: random; the report shows it."`
	JSON   bool          `name:"json" help:"Write the report's data as JSON, not as a page."`
}

// Bounds of --since.
const (
	minReport      = time.Minute
	maxTableReport = 24 * time.Hour // how long a stream keeps its records
	maxStackReport = 168 * time.Hour
	reportRows     = 256
)

// Validate returns an error if the flags are invalid.
func (c *ReportCmd) Validate() error {
	most := maxTableReport
	if c.Stack {
		most = maxStackReport
	}
	switch {
	case c.Since < minReport || c.Since > most:
		return fmt.Errorf("--since %v: want %v to %v", jsontime.Duration(c.Since), jsontime.Duration(minReport), jsontime.Duration(most))
	case !(c.Sample >= report.MinShare && c.Sample <= 1):
		return fmt.Errorf("--sample %v: want %v to 1", c.Sample, report.MinShare)
	case c.Index != "" && !c.Stack:
		return errors.New("--index needs --stack: a sample counts only the table's keys")
	}
	return c.heatFrom.Validate()
}

// Run makes the report. An existing file stays until the report is complete.
func (c *ReportCmd) Run(ctx context.Context, std streams) (err error) {
	if info, err := os.Lstat(c.Output); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--output %s exists and is not a regular file: use another path", c.Output)
	}
	file, err := os.OpenFile(fmt.Sprintf("%s.%d", c.Output, os.Getpid()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("the file of --output: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	defer file.Close()
	config, err := c.config(ctx)
	if err != nil {
		return err
	}
	calls := countCalls(&config)
	settings := report.Settings{
		Table: c.Table, Foreign: !c.Stack, Index: c.Index, Rows: reportRows,
		Limit: float64(c.PartitionWCU), HotRate: live.Threshold * float64(c.PartitionWCU),
	}
	var data report.Data
	if c.Stack {
		data, err = c.ofStack(ctx, config, calls, settings)
	} else {
		data, err = c.ofTable(ctx, std, config, calls, settings)
	}
	if err != nil {
		return err
	}
	if err := c.addThrottles(ctx, &data); err != nil {
		return err
	}
	data.Where, data.Made, data.Version = c.where(config), jsontime.Time{Time: time.Now()}, thisVersion().Version
	if err := errors.Join(c.render(file, data), file.Close()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.Rename(file.Name(), c.Output); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	for _, line := range data.Summary {
		fmt.Fprintln(std.out, terminal.Visible(line))
	}
	fmt.Fprintln(std.out, terminal.Visible("report: "+c.Output))
	return nil
}

// ofStack returns the report on a deployment's counts.
func (c *ReportCmd) ofStack(ctx context.Context, config aws.Config, calls func() map[string]int, s report.Settings) (report.Data, error) {
	w, err := c.openStack(ctx, config)
	if err != nil {
		return report.Data{}, err
	}
	s.To = time.Now().UTC().Truncate(time.Second)
	s.From, s.Table, s.Wanted = s.To.Add(-c.Since), w.Name, c.Since
	for _, step := range []time.Duration{10 * time.Minute, live.Window} {
		for window, err := range w.Source.Windows(ctx, s.From, s.To, step) {
			if err != nil {
				return report.Data{}, c.explain(ctx, config, err)
			}
			if window.Start.After(s.From) { // there is no older data
				s.From, s.Oldest = window.Start, true
			}
			break
		}
	}
	r := report.FromWindows(s)
	for window, err := range w.Source.Windows(ctx, s.From, s.To, r.Step()) {
		if err != nil {
			return report.Data{}, c.explain(ctx, config, err)
		}
		if err := window.Damaged(); err != nil {
			return report.Data{}, err
		}
		r.Add(window)
	}
	return r.Data(calls()), nil
}

// ofTable returns the report on a sample of a table's stream.
func (c *ReportCmd) ofTable(ctx context.Context, std streams, config aws.Config, calls func() map[string]int, s report.Settings) (report.Data, error) {
	found, err := c.findStream(ctx, std, config)
	if err != nil {
		return report.Data{}, err
	}
	sampler := live.Sampler{
		Streams: dynamodbstreams.NewFromConfig(config), Found: found,
		Notify: func(sentence string) { fmt.Fprintln(std.err, terminal.Visible(sentence)) },
	}
	oldest, err := sampler.Oldest(ctx)
	if err != nil {
		return report.Data{}, c.explain(ctx, config, err)
	}
	p, shortened, err := c.plan(found.OfEngine(), oldest)
	if err != nil {
		return report.Data{}, err
	}
	s.From, s.To, s.Wanted, s.Oldest, s.OneShard = p.From, p.To(), c.Since, shortened, found.OfEngine()
	if !found.OfEngine() {
		fmt.Fprintf(std.err, "reading up to %d slices of each stream shard, about one a second: some %s\n", p.Strata, jsontime.Duration(time.Duration(p.Strata)*time.Second))
	}
	add, finish := func(int) {}, func() {}
	defer func() { finish() }()
	r := report.FromSample(s, p)
	sampler.Plan = p
	sampler.Progress = func(done, of int) {
		if done == 1 {
			add, finish = terminal.Progress(std.err, of, "slices")
		}
		add(1)
	}
	shards, err := sampler.Run(ctx, r.Add)
	if err != nil {
		return report.Data{}, c.explain(ctx, config, err)
	}
	return r.Data(shards, calls()), nil
}

// addThrottles adds why requests were throttled. Its calls are not counted. If it fails, the report has the reason
// instead.
func (c *ReportCmd) addThrottles(ctx context.Context, data *report.Data) error {
	configured, err := c.config(ctx)
	if err != nil {
		return err
	}
	sources := c.evidence(ctx, configured)
	sources.Heat = func(context.Context, time.Time, time.Time) ([]throttles.Key, error) {
		return c.hotStorms(data.Storms), nil
	}
	why, err := collect.Run(ctx, sources, c.throttled(data.From.UTC(), data.To.UTC(), c.Index))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		why = throttles.Report{Table: data.Table, From: data.From, To: data.To, Findings: []throttles.Finding{}, Unknown: 1}
		why.Notes = []string{fmt.Sprintf("Throttles are unknown: %v.", c.explain(ctx, configured, err))}
	}
	data.Throttles = &why
	if why.Throttles > 0 {
		data.Summary = append(data.Summary, throttled(why, data.From.UTC()))
	}
	return nil
}

// throttled returns a sentence on the throttles, with the time of the first count if that is not the report's start.
func throttled(why throttles.Report, from time.Time) string {
	since, reason := "", "for unknown reasons"
	if !why.From.Equal(from) { // a limiter's counts have no times
		since = fmt.Sprintf(" since %s UTC", why.From.UTC().Format(time.DateTime))
	}
	if len(why.Findings) > 0 {
		reason = "most for " + why.Findings[0].Reason
	}
	return fmt.Sprintf("%.0f requests were throttled%s, %s.", why.Throttles, since, reason)
}

// hotStorms returns the keys of storms, as evidence of throttles.
func (c *ReportCmd) hotStorms(storms []report.Storm) (keys []throttles.Key) {
	of := c.hotKeys(nil)
	for _, s := range storms {
		if s.Kind == report.OneKey || s.Kind == report.Rising {
			keys = append(keys, throttles.Key{
				Reason: throttles.Reason{ID: throttles.ID{Table: of.Table(s.Key), Index: s.Index}, Operation: throttles.Write, Cause: throttles.KeyRange},
				Key:    s.Key, UnitsPerSecond: s.Rate, Hot: true, Rising: s.Kind == report.Rising, Source: "hot-key events of the stream",
			})
		}
	}
	return keys
}

// plan returns the seconds to read. shortened means that they begin with the oldest record, which is newer than --since.
// DynamoDB Local stamps records to the minute, so all of its stream is read.
func (c *ReportCmd) plan(ofEngine bool, oldest time.Time) (p report.Plan, shortened bool, err error) {
	to, since, share := time.Now().UTC().Truncate(time.Second), c.Since, c.Sample
	if ofEngine {
		to, share = to.Truncate(time.Minute).Add(time.Minute), 1/time.Minute.Seconds()
	}
	if !oldest.IsZero() {
		stratum := time.Duration(math.Round(1/share)) * time.Second
		if kept := (to.Sub(oldest)/stratum + 1) * stratum; kept < since {
			since, shortened = kept, true
		}
	}
	p, err = report.NewPlan(to, since, share, cmp.Or(c.Seed, rand.Uint64()>>1))
	return p, shortened, err
}

// maxPage is the maximum size of a page, in bytes. Rows that don't fit are omitted, the coolest first.
const maxPage = 2_000_000

func (c *ReportCmd) render(w io.Writer, data report.Data) error {
	if c.JSON {
		return printJSON(w, data)
	}
	page, err := console.Report(data)
	for err == nil && len(page) > maxPage && len(data.Heat.Rows) > 1 {
		data.Halve()
		page, err = console.Report(data)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(page)
	return err
}

// countCalls makes all clients with this configuration count the attempts of their calls. counts returns the numbers by
// operation; call it after the last call.
func countCalls(config *aws.Config) (counts func() map[string]int) {
	var mu sync.Mutex
	made := map[string]int{}
	config.APIOptions = append(config.APIOptions, awscall.ObserveAttempts(func(a awscall.Action) {
		mu.Lock()
		defer mu.Unlock()
		made[a.Operation()]++
	}))
	return func() map[string]int { return made }
}
