package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/hotshard/hotshard/internal/load"
	"github.com/hotshard/hotshard/internal/local/system"
	"github.com/hotshard/hotshard/internal/terminal"
	"github.com/hotshard/hotshard/internal/workload"
)

// LoadCmd is hotshard load.
type LoadCmd struct {
	AccessLog string        `placeholder:"FILE" help:"This or --workload: replay an access log in the combined log format, plain or gzip. Each request is an event of its client and an increment of its path's counter, and its bytes are a score of its client. A path or client that can't be a name (over 512 bytes, control characters, malformed UTF-8) gets the name sha256:<hex digest>."`
	Workload  workload.Kind `placeholder:"KIND" help:"This or --access-log: generate traffic, zipf (exponent 1.1), flash-crowd (uniform, then nine in ten to one key), viral (one counter) or uniform."`

	Target      string        `default:"http://127.0.0.1:8080" help:"Base URL of the API."`
	Rate        float64       `default:"0" help:"Requests a second; 0 is as fast as possible."`
	Count       int           `default:"0" help:"Stop after so many requests; 0 is the whole log, or 10000 generated ones. At most 10000000."`
	Seed        uint64        `default:"0" help:"Seed of generated traffic; 0 picks one, which is printed."`
	Keys        int           `default:"1000" help:"Distinct keys of generated traffic."`
	Concurrency int           `default:"32" help:"Calls in flight, up to 1024."`
	Batch       int           `default:"1" help:"Requests whose events share a call, and likewise their increments and scores: up to 500, or 99 with keyed calls."`
	Board       string        `default:"clients" help:"Leaderboard of sums to which each request's bytes are added as a score of its client. It is set up to keep a top of 100, of all time. Empty for none."`
	Retries     int           `default:"30" help:"How often a call is sent again after 429, 503 or a lost answer, up to 1000."`
	Keyed       *bool         `negatable:"" help:"Send increments and scores with an Idempotency-Key, so that they can be sent again after a lost answer; costs a transaction each. The default with --verify. With --no-keyed they are not sent again, and verification allows for either outcome of each. Events need no key."`
	Verify      bool          `help:"Wait until the summaries have settled, then compare every counter (summary and write shards), every entity's events, and every player's score and rank with what was accepted. Exit 1 on any difference. Run one load at a time. Holds every event in memory."`
	Settle      time.Duration `default:"30s" help:"With --verify, how long to wait for summaries that come no nearer."`
	Baseline    string        `placeholder:"URL" help:"Also make the same writes with the bare SDK on this DynamoDB Local endpoint, in turns with the API, into tables made for that and deleted afterwards; prints the ratio. The bare writes are without Idempotency-Key: for a fair ratio use --no-keyed."`
	JSON        bool          `name:"json" help:"Print the result as JSON."`
	auth
}

const (
	defaultCount = 10_000
	maxCount     = 10_000_000
)

// Validate finds faults of the command line.
func (c *LoadCmd) Validate() error {
	switch {
	case (c.AccessLog == "") == (c.Workload == ""):
		return errors.New("want one of --access-log and --workload")
	case c.Workload != "" && !slices.Contains(workload.Kinds, c.Workload):
		return fmt.Errorf("--workload %q: want one of %s", c.Workload, strings.Trim(fmt.Sprint(workload.Kinds), "[]"))
	case c.Count < 0 || c.Count > maxCount:
		return fmt.Errorf("--count %d: want 0 to %d", c.Count, maxCount)
	case c.Keys < 1 || c.Keys > maxCount:
		return fmt.Errorf("--keys %d: want 1 to %d", c.Keys, maxCount)
	case c.Concurrency < 1:
		return fmt.Errorf("--concurrency %d: want 1 to %d", c.Concurrency, load.MaxConcurrency)
	case c.Batch < 1:
		return fmt.Errorf("--batch %d: want 1 to %d", c.Batch, load.MaxBatch)
	case c.Retries < 0:
		return fmt.Errorf("--retries %d: want 0 to %d", c.Retries, load.MaxRetries)
	case c.Baseline != "" && c.Rate > 0:
		return errors.New("--baseline and --rate can't be used together")
	}
	if c.Baseline != "" {
		if err := system.CheckEndpoint(c.Baseline); err != nil {
			return fmt.Errorf("--baseline: %w", err)
		}
	}
	return c.options(workload.Source{}).Validate()
}

// Run sends the load and prints what it came to.
func (c *LoadCmd) Run(ctx context.Context, std streams) (err error) {
	source, err := c.source()
	if err != nil {
		return err
	}
	if source.Seed != 0 {
		fmt.Fprintf(std.err, "workload %s, seed %d\n", source.Name, source.Seed)
	}
	options := c.options(source)
	if options.Sign, err = c.signer(ctx, c.Target); err != nil {
		return err
	}
	if c.Baseline != "" {
		bare, clean, bareErr := newBare(ctx, c.Baseline)
		if bareErr != nil {
			return bareErr
		}
		defer func() { err = errors.Join(err, clean()) }()
		options.Bare = bare
	}
	progress, finish := terminal.Progress(std.err, source.Total, "requests")
	options.Progress = progress
	result, err := load.Run(ctx, options)
	finish()
	if result.Requests > 0 {
		if err := c.print(std.out, result); err != nil {
			return err
		}
	}
	if err == nil && result.Verify != nil && result.Verify.Differences > 0 {
		err = fmt.Errorf("verification found %d differences", result.Verify.Differences)
	}
	return err
}

func (c *LoadCmd) source() (workload.Source, error) {
	if c.AccessLog != "" {
		return workload.Log(c.AccessLog, c.Count)
	}
	s := workload.Synthetic{Kind: c.Workload, Seed: c.Seed, Count: c.Count, Keys: c.Keys}
	if s.Count == 0 {
		s.Count = defaultCount
	}
	for s.Seed == 0 {
		s.Seed = uint64(rand.Uint32())
	}
	return s.Source()
}

func (c *LoadCmd) options(source workload.Source) load.Options {
	keyed := c.Verify
	if c.Keyed != nil {
		keyed = *c.Keyed
	}
	retries := c.Retries
	if retries == 0 {
		retries = -1 // none
	}
	return load.Options{
		Target: c.Target, Source: source, Board: c.Board, Concurrency: c.Concurrency, Batch: c.Batch, Rate: c.Rate,
		Retries: retries, Keyed: keyed, Verify: c.Verify, Settle: c.Settle,
	}
}

func (c *LoadCmd) print(w io.Writer, r load.Result) error {
	if c.JSON {
		return printJSON(w, r)
	}
	t := terminal.NewTable()
	t.Style().Options = table.OptionsNoBordersAndSeparators
	for _, cells := range rows(r) {
		t.Row(cells...)
	}
	if _, err := fmt.Fprintln(w, t.Render()); err != nil {
		return err
	}
	if r.Verify == nil {
		return nil
	}
	for _, line := range r.Verify.First {
		if _, err := fmt.Fprintln(w, "  "+terminal.Visible(line)); err != nil {
			return err
		}
	}
	return nil
}

func rows(r load.Result) [][]any {
	list := [][]any{
		{"workload", r.Workload},
		{"target", r.Target},
	}
	if r.Seed != 0 {
		list = append(list, []any{"seed", r.Seed})
	}
	list = append(list, [][]any{
		{"requests", fmt.Sprintf("%d (%d in flight, %d a call, keyed: %t)", r.Requests, r.Concurrency, r.Batch, r.Keyed)},
		{"accepted", r.Accepted},
		{"rejected", r.Rejected},
		{"unknown (answer lost)", r.Unknown},
		{"retries", r.Retries},
		{"duration", fmt.Sprintf("%.2f s", r.Seconds)},
		{"requests/s", fmt.Sprintf("%.0f", r.PerSecond)},
		{"call latency p50, p99", fmt.Sprintf("%.1f ms, %.1f ms", r.Latency.P50, r.Latency.P99)},
		{"freshness p50, p99", fmt.Sprintf("%.0f ms, %.0f ms (%d probes, %d missed)", r.Freshness.P50, r.Freshness.P99, r.Freshness.Count, r.Freshness.Missed)},
	}...)
	if b := r.Baseline; b != nil {
		list = append(list, []any{"bare SDK requests/s", fmt.Sprintf("%.0f (ratio %.2f)", b.PerSecond, b.Ratio)})
	}
	if v := r.Verify; v != nil {
		list = append(list, []any{"verified", fmt.Sprintf("%d counters, %d events of %d entities in %.1f s", v.Counters, v.Events, v.Entities, v.Seconds)})
		if r.Board != "" {
			list = append(list, []any{"board " + r.Board, fmt.Sprintf("%d players verified, ranks within %d", v.Players, v.RankError)})
		}
		list = append(list, []any{"differences", v.Differences})
	}
	return list
}
