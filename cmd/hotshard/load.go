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

	"github.com/hotshard/hotshard/internal/tool/load"
)

// LoadCmd is hotshard load.
type LoadCmd struct {
	AccessLog string        `placeholder:"FILE" help:"Replay an access log in the combined log format, plain or gzip; this or --workload. Each request becomes an event of its client and an increment of its path's counter. A path or client that can't be a name (over 512 bytes, control characters, invalid UTF-8) gets the name sha256:<hex digest>."`
	Workload  load.Workload `placeholder:"KIND" help:"Generate traffic; this or --access-log. zipf has the exponent 1.1; flash-crowd is uniform in its first half, then sends nine in ten requests to one key; viral has one counter; uniform draws each key equally often."`

	Target      string        `copied:"target" default:"http://127.0.0.1:8080" help:"Base URL of the API."`
	Rate        float64       `default:"0" help:"Requests a second; 0 means as fast as possible."`
	Count       int           `default:"0" help:"Stop after this many requests; 0 means the whole log, or 10000 generated requests. At most 10000000."`
	Seed        uint64        `default:"0" help:"Seed of generated traffic; 0 picks a seed and prints it."`
	Keys        int           `default:"1000" help:"Number of different keys in generated traffic."`
	Concurrency int           `default:"32" help:"Calls in flight, up to 1024."`
	Verify      bool          `help:"Wait until the summaries have caught up, then compare every counter (summary and write shards) and every entity's events with what was accepted. Exit 1 on any difference. Run one load at a time. Increments then have an Idempotency-Key, so that they can be retried after an unknown outcome; each call costs a transaction. Every event is kept in memory."`
	Settle      time.Duration `default:"30s" help:"With --verify: give up after this time without progress of the summaries, and after 20 times as long in all."`
	JSON        bool          `name:"json" help:"Print the result as JSON."`
	auth
}

const (
	defaultCount = 10_000
	maxCount     = 10_000_000
)

// Validate returns an error if the flags are invalid.
func (c *LoadCmd) Validate() error {
	switch {
	case (c.AccessLog == "") == (c.Workload == ""):
		return errors.New("want one of --access-log and --workload")
	case c.Workload != "" && !slices.Contains(load.Workloads, c.Workload):
		return fmt.Errorf("--workload %q: want one of %s", c.Workload, strings.Trim(fmt.Sprint(load.Workloads), "[]"))
	case c.Count < 0 || c.Count > maxCount:
		return fmt.Errorf("--count %d: want 0 to %d", c.Count, maxCount)
	case c.Keys < 1 || c.Keys > maxCount:
		return fmt.Errorf("--keys %d: want 1 to %d", c.Keys, maxCount)
	case c.Concurrency < 1:
		return fmt.Errorf("--concurrency %d: want 1 to %d", c.Concurrency, load.MaxConcurrency)
	}
	return c.options(load.Source{}).Validate()
}

// Run sends the load and prints the result.
func (c *LoadCmd) Run(ctx context.Context, std streams) error {
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
	progress, finish := progressBar(std.err, source.Total, "requests")
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

func (c *LoadCmd) source() (load.Source, error) {
	if c.AccessLog != "" {
		return load.LogSource(c.AccessLog, c.Count)
	}
	s := load.Synthetic{Workload: c.Workload, Seed: c.Seed, Count: c.Count, Keys: c.Keys}
	if s.Count == 0 {
		s.Count = defaultCount
	}
	for s.Seed == 0 {
		s.Seed = uint64(rand.Uint32())
	}
	return s.Source(), nil
}

func (c *LoadCmd) options(source load.Source) load.Options {
	return load.Options{
		Target: c.Target, Source: source, Concurrency: c.Concurrency, Rate: c.Rate,
		Verify: c.Verify, Settle: c.Settle,
	}
}

func (c *LoadCmd) print(w io.Writer, r load.Result) error {
	if c.JSON {
		return printJSON(w, r)
	}
	t := newTable()
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
		if _, err := fmt.Fprintln(w, "  "+visible(line)); err != nil {
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
		{"requests", fmt.Sprintf("%d (%d in flight)", r.Requests, r.Concurrency)},
		{"accepted", r.Accepted},
		{"rejected", r.Rejected},
		{"unknown outcome", r.Unknown},
		{"retries", r.Retries},
		{"duration", fmt.Sprintf("%.2f s", r.Seconds)},
		{"requests/s", fmt.Sprintf("%.0f", r.PerSecond)},
	}...)
	if v := r.Verify; v != nil {
		list = append(list, []any{"verified", fmt.Sprintf("%d counters by summary and write shards, %d events of %d entities, in %.1f s", v.Counters, v.Events, v.Entities, v.Seconds)})
		list = append(list, []any{"differences", v.Differences})
	}
	return list
}
