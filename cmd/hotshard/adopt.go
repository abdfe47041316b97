package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/tool/adopt"
	"github.com/hotshard/hotshard/internal/tool/system"
	"github.com/hotshard/hotshard/pkg/shard"
)

// AdoptCmd is hotshard adopt, which reads a table and says how the library can shard it.
type AdoptCmd struct {
	Table    string `copied:"table" required:"" placeholder:"NAME" help:"A table of yours, or its ARN. It is only read."`
	Format   string `copied:"format" default:"#SHARD_" help:"Text between a name and a write shard's number."`
	Endpoint string `copied:"endpoint" env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"URL of a DynamoDB-compatible engine. Default: DynamoDB, with the AWS Region and credentials of the environment."`
	Region   string `copied:"region" placeholder:"REGION" help:"The table's AWS Region. Default: the environment's."`
	JSON     bool   `name:"json" help:"Print the result as JSON."`
	scanFlags
}

// Validate returns an error for a wrong command line.
func (c *AdoptCmd) Validate() error {
	switch "" {
	case c.Table:
		return errors.New("--table is empty: want a table's name or ARN")
	case c.Format:
		return errors.New("--format is empty: want text that separates a name from a write shard's number, such as #SHARD_")
	}
	return cmp.Or(c.source().Validate(), c.scanFlags.Validate())
}

// Run examines the table, and prints what it found. A table that can't be adopted is an error.
func (c *AdoptCmd) Run(ctx context.Context, std streams) error {
	source := c.source()
	cfg, err := source.awsConfig(ctx)
	if err == nil && c.Endpoint != "" {
		err = system.CheckEngine(ctx, c.Endpoint)
	}
	if err != nil {
		return err
	}
	cfg.RetryMode, cfg.RetryMaxAttempts = aws.RetryModeAdaptive, callAttempts
	progress, finish := progressBar(std.err, -1, "items")
	report, err := adopt.Examine(ctx, source.dynamoDB(cfg), adopt.Options{
		Table: c.Table, Format: shard.Format(c.Format), ReadUnits: c.ReadUnits, Progress: progress, Now: time.Now(),
	})
	finish()
	if err != nil {
		return source.explainError(ctx, cfg, err)
	}
	if c.JSON {
		err = printJSON(std.out, report)
	} else {
		err = printAdoption(std.out, report)
	}
	if err == nil && len(report.Refusals) > 0 {
		err = userErrorf("Table %s can't be adopted as it is. %s", c.Table, strings.Join(report.Refusals, " "))
	}
	return err
}

// source returns this command's flags as heatFlags, for their AWS configuration and their explanations of errors.
func (c *AdoptCmd) source() *heatFlags {
	return &heatFlags{page: "docs/adopt.md", Table: c.Table, Endpoint: c.Endpoint, Region: c.Region, PartitionWCU: awsPartitionWCU}
}

func printAdoption(out io.Writer, report *adopt.Report) error {
	var text strings.Builder
	sortKey := "no sort key"
	if report.SortKey != "" {
		sortKey = fmt.Sprintf("sort key %s (%s)", report.SortKey, report.SortType)
	}
	fmt.Fprintf(&text, "%s scanned, %d read whole. Partition key %s, %s.\n", display.Several(int(report.Items), "item"), report.Sampled, report.PartitionKey, sortKey)
	fmt.Fprintf(&text, "Stored partition keys that read as write shards above 0 by %q: %d\n", report.Format, report.InTheWay.Keys)
	for _, key := range report.InTheWay.First {
		fmt.Fprintf(&text, "  %s\n", key)
	}
	if report.Layout != "" {
		fmt.Fprintln(&text, report.Layout)
	}
	for _, note := range report.Notes {
		fmt.Fprintf(&text, "Note: %s\n", note)
	}
	if report.Lines != "" {
		lines := strings.ReplaceAll(report.Lines, "\t", "    ") // visibleLines escapes tabs
		fmt.Fprintf(&text, "\n%s\nKeep Observe until all readers and deleters use the library: docs/adopt.md.\n", lines)
	}
	_, err := io.WriteString(out, visibleLines(text.String()))
	return err
}
