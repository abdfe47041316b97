package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/throttles"
	"github.com/hotshard/hotshard/internal/tool/explain"
	"github.com/hotshard/hotshard/internal/tool/heatview"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/internal/tool/terminal"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ExplainCmd is hotshard explain.
type ExplainCmd struct {
	heatFrom
	Since time.Duration `default:"15m" help:"How far back to look, 1m to 24h."`
	Index string        `placeholder:"NAME" help:"Only this global index."`
	Log   string        `placeholder:"FILE" type:"path" help:"Errors of SDKs, as text or JSON, with their ThrottlingReasons; - is the standard input."`
	JSON  bool          `name:"json" help:"Print the report as JSON, and notes to the standard error."`
}

// Bounds of explain.
const (
	minExplain = time.Minute
	heatTime   = 30 * time.Second // for reading the past of a stream
	warmShare  = 0.5              // of a partition's limit from which a key is listed
	maxHeat    = 50               // keys
)

// Validate returns an error if the flags are invalid.
func (c *ExplainCmd) Validate() error {
	if c.Since < minExplain || c.Since > maxTopSince {
		return fmt.Errorf("--since %v: want 1m to 24h", c.Since)
	}
	return c.heatFrom.Validate()
}

// Run prints why requests were throttled.
func (c *ExplainCmd) Run(ctx context.Context, std streams) error {
	configured, err := c.config(ctx)
	if err != nil {
		return err
	}
	sources, done, err := c.sources(ctx, configured)
	if err != nil {
		return err
	}
	defer done()
	to := time.Now().UTC()
	o := explain.Options{Name: c.Table, Tables: []string{c.Table}, Index: c.Index, From: to.Add(-c.Since), To: to, PartitionWCU: float64(c.PartitionWCU)}
	if c.Stack {
		names := schema.NamesFor(c.TablesPrefix)
		o.Name, o.Tables = c.TablesPrefix+"*", []string{names.Items, names.Events, names.Rollups, names.ShardMap, names.Heat}
	}
	sources.Heat = func(ctx context.Context) ([]throttles.Key, error) { return c.hotKeys(ctx, o) }
	if c.Stack {
		shards := shardmap.New(c.dynamoDB(configured), schema.NamesFor(c.TablesPrefix).ShardMap, shardmap.Options{})
		sources.Advise = func(ctx context.Context, k throttles.Key) string { return adviceFor(ctx, shards, k) }
	}
	report, notes, err := explain.Run(ctx, sources, o)
	if err != nil {
		return c.explain(ctx, configured, err)
	}
	if !c.JSON {
		return explain.Print(std.out, report, notes)
	}
	for _, n := range notes {
		fmt.Fprintln(std.err, terminal.Visible(n))
	}
	return printJSON(std.out, report)
}

// sources returns all sources but the heat. An engine has CloudWatch only if the environment names a stand-in.
func (c *ExplainCmd) sources(ctx context.Context, configured aws.Config) (s explain.Sources, done func(), err error) {
	s.DynamoDB, done = c.dynamoDB(configured), func() {}
	if c.Endpoint == "" || os.Getenv("AWS_ENDPOINT_URL_CLOUDWATCH") != "" {
		s.CloudWatch = cloudwatch.NewFromConfig(configured)
	}
	if c.Endpoint != "" {
		s.Proxy = explain.Proxy(ctx, c.Endpoint)
	}
	switch c.Log {
	case "":
	case "-":
		s.Log, s.LogName = os.Stdin, "standard input"
	default:
		file, err := os.Open(c.Log)
		if err != nil {
			return s, done, fmt.Errorf("--log: %w", err)
		}
		s.Log, s.LogName, done = file, c.Log, func() { file.Close() }
	}
	return s, done, nil
}

// hotKeys returns the keys that took much of a partition's limit. Reading the past of a stream takes up to heatTime.
func (c *ExplainCmd) hotKeys(ctx context.Context, o explain.Options) ([]throttles.Key, error) {
	quiet := streams{out: io.Discard, err: io.Discard}
	w, err := c.open(ctx, quiet, o.From)
	if err != nil {
		return nil, err
	}
	if w.Run != nil {
		if err := readPast(ctx, w, o.To); err != nil {
			return nil, err
		}
	}
	step := live.Window
	if c.Since > time.Hour {
		step = time.Minute
	}
	merger := heat.Merger{}
	for window, err := range w.Source.Windows(ctx, o.From, time.Now(), step) {
		if err != nil {
			return nil, err
		}
		merger.Add(window.Items)
	}
	var keys []throttles.Key
	for _, row := range merger.Rows() {
		if k := c.hotKey(&row); len(keys) < maxHeat && k.UnitsPerSecond >= warmShare*row.Limit {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// readPast reads a stream until it has the windows up to a time, or for heatTime.
func readPast(ctx context.Context, w *heatview.Watched, to time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, heatTime)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- w.Run(ctx) }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for w.Settled().Before(to) {
		select {
		case err := <-failed:
			if errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return err
		case <-tick.C:
		}
	}
	cancel()
	<-failed
	return nil
}

// hotKey returns what a row tells. An engine stamps a minute's records with its begin, so that one window has them all.
func (c *ExplainCmd) hotKey(row *heat.KeyHeat) throttles.Key {
	k := throttles.Key{
		Reason: throttles.Reason{ID: throttles.ID{Table: cmp.Or(row.Table, c.Table), Index: row.Index}, Operation: throttles.Write, Cause: throttles.KeyRange},
		Key:    row.Key, UnitsPerSecond: row.WriteUnitsPerSecond, Hot: row.Status >= heat.Hot, UnitsPerWrite: row.UnitsPerWrite, Source: "heat of the stream",
	}
	if c.Endpoint != "" && c.Table != "" {
		k.UnitsPerSecond *= live.Window.Seconds() / time.Minute.Seconds()
		k.Hot = k.UnitsPerSecond >= live.Threshold*row.Limit
	}
	if k.Table == "" {
		k.Table = schema.NamesFor(c.TablesPrefix).OfKey(row.Key)
	}
	return k
}

// adviceFor returns the cure for a throttled or hot write shard of a deployment; "" for another key, or if its shard count
// can't be read.
func adviceFor(ctx context.Context, shards heatview.ShardCounts, k throttles.Key) string {
	row := heat.KeyHeat{Key: k.Key, Index: k.Index}
	base, ok := row.Base()
	if !ok || k.Operation == throttles.Read {
		return ""
	}
	entry, err := shards.Lookup(ctx, base.String(), time.Now())
	if err != nil {
		return ""
	}
	n, partitions := entry.History.Newest(), shards.Partitions(kind.Of(base.Type).Table)
	hot := growth.Hot{Type: base.Type, Limit: 1, Shards: n, Hottest: 1, Others: math.Inf(1), Total: float64(n)} // each write shard at its limit
	if remedy, count := hot.Remedy(partitions); remedy == growth.Raise {
		return fmt.Sprintf("Wait until hotshard raises the %d write shards of %s %s by itself, or set them ahead of a peak: hotshard shards set --type %[2]s --name %[3]s --shards %[4]d", n, base.Type, quoteWord(base.Name), count)
	}
	return fmt.Sprintf("Pace the sender of %s %s, or raise the table's warm throughput: more than its %d write shards don't help, because the table has %d partitions until DynamoDB splits them.", base.Type, base.Name, n, partitions)
}
