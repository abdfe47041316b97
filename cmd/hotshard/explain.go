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

// ExplainCmd is hotshard explain, which says why requests were throttled, and what cures it.
type ExplainCmd struct {
	heatFlags
	Since time.Duration `copied:"since" default:"15m" help:"How far back to look, 1m to 24h."`
	Index string        `copied:"index" placeholder:"NAME" help:"Only this global index."`
	Log   []string      `placeholder:"FILE" sep:"none" type:"path" help:"File with errors of an SDK, as text or JSON; - is the standard input. It may be repeated."`
	JSON  bool          `name:"json" help:"Print the report as JSON, and notes to the standard error, too."`
}

const (
	minExplain  = time.Minute      // least --since
	maxExplain  = 24 * time.Hour   // largest --since
	maxPastRead = 30 * time.Second // how long reading a stream's past may take
)

// Validate returns an error if the flags are invalid.
func (c *ExplainCmd) Validate() error {
	if c.Since < minExplain || c.Since > maxExplain {
		return fmt.Errorf("--since %v: want 1m to 24h", c.Since)
	}
	return c.heatFlags.Validate()
}

// Run prints why requests were throttled. With --json, next steps and notes also go to standard error.
func (c *ExplainCmd) Run(ctx context.Context, std streams, commands display.Commands) error {
	report, err := c.report(ctx, std, commands)
	if err != nil {
		return err
	}
	if !c.JSON {
		_, err := io.WriteString(std.out, visibleLines(report.Text()))
		return err
	}
	for _, line := range slices.Concat(report.Next, report.Notes) {
		fmt.Fprintln(std.err, visible(line))
	}
	return printJSON(std.out, report)
}

// report reads the evidence from AWS, the stream and the files of --log, and returns what it shows.
func (c *ExplainCmd) report(ctx context.Context, std streams, commands display.Commands) (explain.Report, error) {
	cfg, err := c.awsConfig(ctx)
	if err != nil {
		return explain.Report{}, err
	}
	sources := c.explainSources(ctx, cfg, commands)
	sources.Heat = func(ctx context.Context, from, to time.Time, partitionWCU float64) ([]explain.Key, error) {
		return c.pastHeat(ctx, std, cfg, live.PastOptions{From: from, To: to, PartitionWCU: partitionWCU})
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
	return report, c.explainError(ctx, cfg, err)
}

// explainOptions returns the options for the throttles between two times. An index of "" is the table and all its indexes.
func (h *heatFlags) explainOptions(from, to time.Time, index string) explain.Options {
	options := explain.Options{Name: h.tableName(), Tables: []string{h.Table}, Index: index, From: from, To: to, PartitionWCU: float64(h.PartitionWCU)}
	if h.Stack {
		names := schema.NamesFor(h.TablesPrefix)
		options.Name, options.Deployment = h.TablesPrefix+"*", true
		options.Tables = []string{names.Items, names.Events, names.Rollups, names.ShardMap, names.Heat}
	}
	return options
}

// explainSources returns the sources of explanations, except heat and logs. For an engine it reads CloudWatch's metrics only
// if the environment names an endpoint of CloudWatch.
func (h *heatFlags) explainSources(ctx context.Context, cfg aws.Config, commands display.Commands) explain.Sources {
	client := h.dynamoDB(cfg)
	sources := explain.Sources{DynamoDB: client, HeatCalls: "dynamodb:DescribeStream, GetShardIterator and GetRecords"}
	if h.Endpoint == "" || os.Getenv("AWS_ENDPOINT_URL_CLOUDWATCH") != "" {
		sources.CloudWatch = cloudwatch.NewFromConfig(cfg)
	}
	if h.Endpoint != "" {
		sources.Limiter = explain.ProxyReader(ctx, h.Endpoint)
	}
	if h.Stack {
		names := schema.NamesFor(h.TablesPrefix)
		sources.HeatCalls = "dynamodb:Query on table " + names.Heat
		sources.Advise = explain.Advice(names, shardmap.New(client, names.ShardMap, shardmap.Options{}), h.shardsSetLine(commands), time.Now)
	}
	return sources
}

// shardsSetLine returns a function that returns the command line that sets a key's shard count.
func (h *heatFlags) shardsSetLine(commands display.Commands) func(schema.BaseKey, int) string {
	return func(base schema.BaseKey, n int) string {
		line := commands.Line("shards set", "--type", string(base.Type), "--name", base.Name, "--shards", strconv.Itoa(n))
		if h.Endpoint == "" {
			line += apiVariable
		}
		return line
	}
}

// apiVariable is the flag for a deployment's API. The user sets the shell's variable api to the URL, as in docs/deploy.md.
const apiVariable = ` --target "$api"`

// pastHeat returns the keys that took at least half of a partition's limit since options.From, from a deployment's heat
// table or from the past of a stream. It reads the stream for at most maxPastRead, and shows its progress.
func (h *heatFlags) pastHeat(ctx context.Context, std streams, cfg aws.Config, options live.PastOptions) ([]explain.Key, error) {
	if h.Stack {
		feed, err := h.deploymentHeat(ctx, cfg)
		if err != nil {
			return nil, err
		}
		return explain.HotKeys(ctx, feed.Source, schema.NamesFor(h.TablesPrefix).OfKey, options.From, time.Now())
	}
	found, err := h.findStream(ctx, streams{out: io.Discard, err: io.Discard}, cfg)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(std.err, "Reading the stream of %s for at most %v.\n", visible(h.tableName()), maxPastRead)
	progress, finish := windowsProgress(std)
	options.Streams, options.Found, options.Within, options.Progress = dynamodbstreams.NewFromConfig(cfg), found, maxPastRead, progress
	past, err := live.ReadPast(ctx, options)
	finish()
	if err != nil {
		return nil, h.explainError(ctx, cfg, err)
	}
	return explain.HotKeys(ctx, past, func(string) string { return h.tableName() }, options.From, time.Now())
}

// windowsProgress returns the functions that advance and end a progress bar for the windows of a stream's past.
// progress gets the number of windows that were read or skipped, and that of all windows. Its first call draws the bar.
func windowsProgress(std streams) (progress func(passed, all int), finish func()) {
	var advanceBar func(int)
	finishBar := func() {}
	shown := 0
	progress = func(passed, all int) {
		if advanceBar == nil {
			advanceBar, finishBar = progressBar(std.err, all, "windows")
		}
		advanceBar(passed - shown)
		shown = passed
	}
	return progress, func() { finishBar() }
}
