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

// AdoptCmd is hotshard adopt.
type AdoptCmd struct {
	Table    string `copied:"table" required:"" placeholder:"NAME" help:"A table of yours, or its ARN. It is only read."`
	Format   string `copied:"format" default:"#SHARD_" placeholder:"TEXT" help:"Text between a name and a write shard's number."`
	Endpoint string `copied:"endpoint" env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"URL of a DynamoDB-compatible engine. Default: DynamoDB, with the AWS Region and credentials of the environment."`
	Region   string `copied:"region" placeholder:"REGION" help:"The table's AWS Region. Default: the environment's."`
	JSON     bool   `name:"json" help:"Print the result as JSON."`
	scanning
}

// Validate returns an error for a wrong command line.
func (c *AdoptCmd) Validate() error {
	if c.Format == "" {
		return errors.New("--format is empty: with no text before the number, a write shard's key would be a name")
	}
	if c.Table == "" {
		return nil // the parser reports it
	}
	return cmp.Or(c.source().Validate(), c.scanning.Validate())
}

// Run examines the table, and prints what it found. A table that can't be adopted is an error.
func (c *AdoptCmd) Run(ctx context.Context, std streams) error {
	source := c.source()
	settings, err := source.config(ctx)
	if err == nil && c.Endpoint != "" {
		err = system.CheckEngine(ctx, c.Endpoint)
	}
	if err != nil {
		return err
	}
	settings.RetryMode, settings.RetryMaxAttempts = aws.RetryModeAdaptive, callAttempts
	progress, finish := progressBar(std.err, -1, "items")
	r, err := adopt.Examine(ctx, source.dynamoDB(settings), adopt.Options{
		Table: c.Table, Format: shard.Format(c.Format), ReadUnits: c.ReadUnits, Progress: progress, Now: time.Now(),
	})
	finish()
	if err != nil {
		return source.explain(ctx, settings, err)
	}
	if c.JSON {
		err = printJSON(std.out, r)
	} else {
		err = printAdoption(std.out, r)
	}
	if err == nil && len(r.Refusals) > 0 {
		err = sentence("Table %s can't be adopted as it is. %s", c.Table, strings.Join(r.Refusals, " "))
	}
	return err
}

// source returns the table with the flags of the commands for heat, which share its clients and errors.
func (c *AdoptCmd) source() *heatFrom {
	return &heatFrom{page: "docs/adopt.md", Table: c.Table, Endpoint: c.Endpoint, Region: c.Region, PartitionWCU: awsPartitionWCU}
}

func printAdoption(out io.Writer, r *adopt.Report) error {
	var text strings.Builder
	sort := "no sort key"
	if r.SortKey != "" {
		sort = fmt.Sprintf("sort key %s (%s)", r.SortKey, r.SortType)
	}
	fmt.Fprintf(&text, "%s scanned, %d read whole. Partition key %s, %s.\n", display.Several(int(r.Items), "item"), r.Sampled, r.PartitionKey, sort)
	fmt.Fprintf(&text, "Stored partition keys that read as write shards above 0 by %q: %d\n", r.Format, r.InTheWay.Keys)
	for _, key := range r.InTheWay.First {
		fmt.Fprintf(&text, "  %s\n", key)
	}
	if r.Layout != "" {
		fmt.Fprintln(&text, r.Layout)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&text, "Note: %s\n", note)
	}
	if r.Lines != "" {
		lines := strings.ReplaceAll(r.Lines, "\t", "    ") // visibleLines escapes tabs
		fmt.Fprintf(&text, "\n%s\nKeep Observe until all readers and deleters use the library: docs/adopt.md.\n", lines)
	}
	_, err := io.WriteString(out, visibleLines(text.String()))
	return err
}
