package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/tool/explain"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ExplainCmd is hotshard explain.
type ExplainCmd struct {
	heatFrom
	Since time.Duration `default:"15m" help:"How far back to look, 1m to 24h."`
	Index string        `placeholder:"NAME" help:"Only this global index."`
	Log   []string      `placeholder:"FILE" sep:"none" type:"path" help:"File with errors of an SDK, as text or JSON; - is the standard input. It may be repeated."`
	JSON  bool          `name:"json" help:"Print the report as JSON, and notes to the standard error, too."`
}

// Bounds of explain.
const (
	minExplain = time.Minute
	maxExplain = 24 * time.Hour
	heatTime   = 30 * time.Second // for reading the past of a stream
)

// Validate returns an error if the flags are invalid.
func (c *ExplainCmd) Validate() error {
	if c.Since < minExplain || c.Since > maxExplain {
		return fmt.Errorf("--since %v: want 1m to 24h", c.Since)
	}
	return c.heatFrom.Validate()
}

// Run prints why requests were throttled.
func (c *ExplainCmd) Run(ctx context.Context, std streams, commands display.Commands) error {
	report, err := c.report(ctx, std, commands)
	if err != nil {
		return err
	}
	if !c.JSON {
		_, err := io.WriteString(std.out, visibleLines(report.Text()))
		return err
	}
	for _, n := range slices.Concat(report.Next, report.Notes) {
		fmt.Fprintln(std.err, visible(n))
	}
	return printJSON(std.out, report)
}

// report returns why requests were throttled.
func (c *ExplainCmd) report(ctx context.Context, std streams, commands display.Commands) (explain.Report, error) {
	configured, err := c.config(ctx)
	if err != nil {
		return explain.Report{}, err
	}
	sources := c.evidence(ctx, configured, commands)
	sources.Heat = func(ctx context.Context, from, to time.Time, partitionWCU float64) ([]explain.Key, error) {
		return c.pastHeat(ctx, std, configured, live.PastOptions{From: from, To: to, PartitionWCU: partitionWCU})
	}
	for _, name := range c.Log {
		if name == "-" {
			sources.Logs = append(sources.Logs, explain.Log{Name: "standard input", Text: os.Stdin})
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return explain.Report{}, fmt.Errorf("--log: %w", err)
		}
		defer file.Close()
		sources.Logs = append(sources.Logs, explain.Log{Name: name, Text: file})
	}
	to := time.Now().UTC()
	options := c.explainOptions(to.Add(-c.Since), to, c.Index)
	options.Commands = commands
	report, err := explain.Run(ctx, sources, options)
	return report, c.explain(ctx, configured, err)
}

// explainOptions returns the options for the throttles between two times; "" is all indexes.
func (h *heatFrom) explainOptions(from, to time.Time, index string) explain.Options {
	o := explain.Options{Name: h.tableName(), Tables: []string{h.Table}, Index: index, From: from, To: to, PartitionWCU: float64(h.PartitionWCU)}
	if h.Stack {
		names := schema.NamesFor(h.TablesPrefix)
		o.Name, o.Deployment, o.Tables = h.TablesPrefix+"*", true, []string{names.Items, names.Events, names.Rollups, names.ShardMap, names.Heat}
	}
	return o
}

// evidence returns the sources of explanations, without the heat. An engine has CloudWatch's metrics only if the
// environment names an endpoint for CloudWatch.
func (h *heatFrom) evidence(ctx context.Context, configured aws.Config, commands display.Commands) explain.Sources {
	client := h.dynamoDB(configured)
	s := explain.Sources{DynamoDB: client, HeatCalls: "dynamodb:DescribeStream, GetShardIterator and GetRecords"}
	if h.Endpoint == "" || os.Getenv("AWS_ENDPOINT_URL_CLOUDWATCH") != "" {
		s.CloudWatch = cloudwatch.NewFromConfig(configured)
	}
	if h.Endpoint != "" {
		s.Limiter = explain.ProxyReader(ctx, h.Endpoint)
	}
	if h.Stack {
		names := schema.NamesFor(h.TablesPrefix)
		s.HeatCalls = "dynamodb:Query on table " + names.Heat
		s.Advise = explain.Advice(names, shardmap.New(client, names.ShardMap, shardmap.Options{}), h.setShards(commands), time.Now)
	}
	return s
}

// setShards returns a function that builds the command line that sets a key's shard count. The shell's variable api has a
// deployment's URL, as in docs/deploy.md.
func (h *heatFrom) setShards(commands display.Commands) func(schema.BaseKey, int) string {
	return func(base schema.BaseKey, n int) string {
		line := commands.Line("shards set", "--type", string(base.Type), "--name", base.Name, "--shards", strconv.Itoa(n))
		if h.Endpoint == "" {
			line += apiVariable
		}
		return line
	}
}

// apiVariable is the flag for a deployment's API.
const apiVariable = ` --target "$api"`

// pastHeat returns the keys that took much of a partition's limit, from a deployment's heat table or from the past of a
// stream. It reads the stream for up to heatTime and shows the progress.
func (h *heatFrom) pastHeat(ctx context.Context, std streams, c aws.Config, o live.PastOptions) ([]explain.Key, error) {
	if h.Stack {
		w, err := h.openStack(ctx, c)
		if err != nil {
			return nil, err
		}
		return explain.HotKeys(ctx, w.Source, schema.NamesFor(h.TablesPrefix).OfKey, o.From, time.Now())
	}
	found, err := h.findStream(ctx, streams{out: io.Discard, err: io.Discard}, c)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(std.err, "Reading the stream of %s for at most %v.\n", visible(h.tableName()), heatTime)
	progress, finish := windowsProgress(std)
	o.Streams, o.Found, o.Within, o.Progress = dynamodbstreams.NewFromConfig(c), found, heatTime, progress
	past, err := live.ReadPast(ctx, o)
	finish()
	if err != nil {
		return nil, h.explain(ctx, c, err)
	}
	return explain.HotKeys(ctx, past, func(string) string { return h.tableName() }, o.From, time.Now())
}

// windowsProgress returns the functions that advance and end a progress bar for the windows of a stream's past. The bar
// begins with the first call of progress, which has the number of all windows.
func windowsProgress(std streams) (progress func(passed, all int), finish func()) {
	var add func(int)
	var before int
	endBar := func() {}
	progress = func(passed, all int) {
		if add == nil {
			add, endBar = progressBar(std.err, all, "windows")
		}
		add(passed - before)
		before = passed
	}
	return progress, func() { endBar() }
}
