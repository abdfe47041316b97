package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// LoadCmd is hotshard load, which sends an access log or generated traffic to the API.
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
	authFlags
}

// Bounds and default of --count.
const (
	defaultCount = 10_000 // generated requests
	maxCount     = 10_000_000
)

// Validate returns an error if the flags are invalid.
func (c *LoadCmd) Validate() error {
	switch {
	case (c.AccessLog != "") == (c.Workload != ""):
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

// Run sends the load. If a request was sent, it prints the result, even after an error. Differences are an error.
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
		err = fmt.Errorf("verification found %s: the result lists the first ones", display.Several(result.Verify.Differences, "difference"))
	}
	return err
}

// source returns the requests to send. It picks a seed if none is set.
func (c *LoadCmd) source() (load.Source, error) {
	if c.AccessLog != "" {
		return load.LogSource(c.AccessLog, c.Count)
	}
	traffic := load.Synthetic{Workload: c.Workload, Seed: c.Seed, Count: cmp.Or(c.Count, defaultCount), Keys: c.Keys}
	for traffic.Seed == 0 {
		traffic.Seed = uint64(rand.Uint32())
	}
	return traffic.Source(), nil
}

func (c *LoadCmd) options(source load.Source) load.Options {
	return load.Options{
		Target: c.Target, Source: source, Concurrency: c.Concurrency, Rate: c.Rate,
		Verify: c.Verify, Settle: c.Settle,
	}
}

func (c *LoadCmd) print(out io.Writer, result load.Result) error {
	if c.JSON {
		return printJSON(out, result)
	}
	text := resultTable(result) + "\n"
	if result.Verify != nil {
		for _, difference := range result.Verify.First {
			text += "  " + visible(difference) + "\n"
		}
	}
	_, err := io.WriteString(out, text)
	return err
}

func resultTable(result load.Result) string {
	t := newTable()
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Row("workload", result.Workload)
	t.Row("target", result.Target)
	if result.Seed != 0 {
		t.Row("seed", result.Seed)
	}
	t.Row("requests", fmt.Sprintf("%d (%d in flight)", result.Requests, result.Concurrency))
	t.Row("accepted", result.Accepted)
	t.Row("rejected", result.Rejected)
	t.Row("unknown outcome", result.Unknown)
	t.Row("retries", result.Retries)
	t.Row("duration", fmt.Sprintf("%.2f s", result.Seconds))
	t.Row("requests/s", fmt.Sprintf("%.0f", result.PerSecond))
	if v := result.Verify; v != nil {
		t.Row("verified", fmt.Sprintf("%s by summary and write shards, %s of %s, in %.1f s", display.Several(v.Counters, "counter"), display.Several(v.Events, "event"), display.Several(v.Entities, "entity"), v.Seconds))
		t.Row("differences", v.Differences)
	}
	return t.Render()
}
