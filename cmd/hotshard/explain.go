package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/heat/windows"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/throttles"
	"github.com/hotshard/hotshard/internal/base/throttles/collect"
	"github.com/hotshard/hotshard/internal/tool/explain"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/internal/tool/terminal"
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
func (c *ExplainCmd) Run(ctx context.Context, std streams) error {
	report, err := c.report(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return explain.Print(std.out, report)
	}
	for _, n := range report.Notes {
		fmt.Fprintln(std.err, terminal.Visible(n))
	}
	return printJSON(std.out, report)
}

// report returns why requests were throttled.
func (c *ExplainCmd) report(ctx context.Context) (throttles.Report, error) {
	configured, err := c.config(ctx)
	if err != nil {
		return throttles.Report{}, err
	}
	sources := c.evidence(ctx, configured)
	sources.Heat = func(ctx context.Context, from, to time.Time) ([]throttles.Key, error) {
		return c.pastHeat(ctx, configured, from, to)
	}
	for _, name := range c.Log {
		if name == "-" {
			sources.Logs = append(sources.Logs, collect.Log{Name: "standard input", Text: os.Stdin})
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return throttles.Report{}, fmt.Errorf("--log: %w", err)
		}
		defer file.Close()
		sources.Logs = append(sources.Logs, collect.Log{Name: name, Text: file})
	}
	to := time.Now().UTC()
	report, err := collect.Run(ctx, sources, c.throttled(to.Add(-c.Since), to, c.Index))
	return report, c.explain(ctx, configured, err)
}

// throttled returns the options for the throttles of a time.
func (h *heatFrom) throttled(from, to time.Time, index string) collect.Options {
	o := collect.Options{Name: h.tableName(), Tables: []string{h.Table}, Index: index, From: from, To: to, PartitionWCU: float64(h.PartitionWCU)}
	if h.Stack {
		names := schema.NamesFor(h.TablesPrefix)
		o.Name, o.Deployment, o.Tables = h.TablesPrefix+"*", true, []string{names.Items, names.Events, names.Rollups, names.ShardMap, names.Heat}
	}
	return o
}

// evidence returns the sources of explanations, without the heat. An engine has CloudWatch's metrics only if the
// environment names an endpoint for CloudWatch.
func (h *heatFrom) evidence(ctx context.Context, configured aws.Config) collect.Sources {
	client := h.dynamoDB(configured)
	s := collect.Sources{DynamoDB: client, HeatCalls: "dynamodb:DescribeStream, GetShardIterator and GetRecords"}
	if h.Endpoint == "" || os.Getenv("AWS_ENDPOINT_URL_CLOUDWATCH") != "" {
		s.CloudWatch = cloudwatch.NewFromConfig(configured)
	}
	if h.Endpoint != "" {
		s.Limiter = explain.Proxy(ctx, h.Endpoint)
	}
	if h.Stack {
		names := schema.NamesFor(h.TablesPrefix)
		s.HeatCalls = "dynamodb:Query on table " + names.Heat
		s.Watched = h.hotKeys(windows.Reader{Client: client, Table: names.Heat}).Watched
		s.Advise = explain.Advice(names, shardmap.New(client, names.ShardMap, shardmap.Options{}), time.Now)
	}
	return s
}

// hotKeys reads hot keys from a source of heat.
func (h *heatFrom) hotKeys(source heat.Source) explain.HotKeys {
	keys := explain.HotKeys{Source: source, Table: func(string) string { return h.tableName() }}
	if h.Stack {
		keys.Table = schema.NamesFor(h.TablesPrefix).OfKey
	}
	return keys
}

// pastHeat returns the keys that took much of a partition's limit: those of a deployment's heat table, or of the past of
// a stream, which it reads for up to heatTime.
func (h *heatFrom) pastHeat(ctx context.Context, c aws.Config, from, to time.Time) ([]throttles.Key, error) {
	if h.Stack {
		w, err := h.openStack(ctx, c)
		if err != nil {
			return nil, err
		}
		return h.hotKeys(w.Source).Read(ctx, from, time.Now())
	}
	found, err := h.findStream(ctx, streams{out: io.Discard, err: io.Discard}, c)
	if err != nil {
		return nil, err
	}
	past, err := live.ReadPast(ctx, live.PastOptions{
		Streams: dynamodbstreams.NewFromConfig(c), Found: found, From: from, To: to, Within: heatTime, PartitionWCU: float64(h.PartitionWCU),
	})
	if err != nil {
		return nil, h.explain(ctx, c, err)
	}
	return h.hotKeys(past).Read(ctx, from, time.Now())
}
