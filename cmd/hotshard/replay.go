package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// ReplayCmd is hotshard replay.
type ReplayCmd struct {
	deployment
	Files  []string  `arg:"" optional:"" type:"path" help:"Files with records that the event source mapping discarded: a failure file of hotshard local, or documents of a failure destination in S3. Their summaries are recomputed, too."`
	Forget time.Time `placeholder:"TIME" help:"RFC 3339: also delete older failures that can't be replayed, because they name no summary or are older than a retention. Use the start time of a hotshard audit --repair of all summaries."`
}

// Validate returns an error if the flags are invalid.
func (c *ReplayCmd) Validate() error {
	if c.Forget.After(time.Now()) {
		return errors.New("--forget must not be in the future: use the start time of an audit")
	}
	return c.deployment.Validate()
}

// replayed is the result.
type replayed struct {
	Failures  int               `json:"failures"`  // number of failures
	Forgotten int               `json:"forgotten"` // number of failures that were deleted
	Left      []rebuild.Failure `json:"left"`
	Report    *rebuild.Report   `json:"report"`
}

// Run recomputes the summaries that lack records, and deletes their failures.
func (c *ReplayCmd) Run(ctx context.Context, std streams) error {
	o := c.options()
	o.Repair, o.Eager = true, true
	a, err := c.auditor(ctx, o)
	if err != nil {
		return err
	}
	others, err := c.given(a, std)
	if err != nil {
		return err
	}
	failures, err := a.Failures(ctx)
	if err != nil {
		return c.explain(err)
	}
	result := replayed{Failures: len(failures)}
	progress, finish := terminal.Progress(std.err, -1, "summaries")
	tooOld := map[schema.Target]bool{}
	result.Report, result.Left, err = a.Replay(ctx, failures, others, func(t schema.Target, r rebuild.Result) {
		tooOld[t] = r.TooOld()
		progress(1)
	})
	finish()
	if err == nil {
		result.Left, err = c.forget(ctx, a, result.Left, tooOld)
	}
	result.Forgotten = len(failures) - len(result.Left)
	if err = c.explain(err); err != nil && result.Report.Targets == 0 && result.Forgotten == 0 {
		return err
	}
	if err := errors.Join(err, c.printReplay(std, result)); err != nil {
		return err
	}
	n := result.Report.Bad() + result.Report.Open
	if c.Forget.IsZero() {
		n += result.Report.TooOld
	}
	if n > 0 || len(result.Left) > 0 {
		return fmt.Errorf("%d of %d failures are left, and %d of %d summaries are wrong or unknown", len(result.Left), len(failures), n, result.Report.Targets)
	}
	return nil
}

// given reads the files.
func (c *ReplayCmd) given(a *rebuild.Checker, std streams) (targets []schema.Target, err error) {
	for _, path := range c.Files {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		found, err := a.ReadGivenUp(file)
		_ = file.Close() // it was only read
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if found.Unknown > 0 {
			fmt.Fprintf(std.err, "hotshard: %s: %d of %d records name no key: run hotshard audit\n", path, found.Unknown, found.Records)
		}
		targets = append(targets, found.Targets...)
	}
	return targets, nil
}

// forget deletes the failures that can't be replayed and that an audit which began at c.Forget has covered.
func (c *ReplayCmd) forget(ctx context.Context, a *rebuild.Checker, list []rebuild.Failure, tooOld map[schema.Target]bool) (left []rebuild.Failure, err error) {
	left = []rebuild.Failure{}
	for _, f := range list {
		forgotten := false
		if err == nil && f.Last.Before(c.Forget) && (!f.Known || tooOld[f.Target]) {
			forgotten, err = a.Forget(ctx, f)
		}
		if !forgotten {
			left = append(left, f)
		}
	}
	return left, err
}

// printReplay prints the result.
func (c *ReplayCmd) printReplay(std streams, r replayed) error {
	if c.JSON {
		return printJSON(std.out, r)
	}
	if err := c.print(std.out, r.Report); err != nil {
		return err
	}
	var text strings.Builder
	if len(r.Left) > 0 {
		t := terminal.NewTable("failure left", "records", "last", "reason")
		unknown := 0
		for _, f := range r.Left {
			if !f.Known {
				unknown++
			}
			t.Row(terminal.Name(f.Text), f.Records, f.Last.Format("2006-01-02T15:04:05Z"), f.Reason)
		}
		fmt.Fprintln(&text, t.Render())
		if unknown > 0 {
			fmt.Fprintln(&text, "Failures with a ? name no summary. Run hotshard audit --repair, then hotshard replay --forget with the start time of that audit.")
		}
	}
	fmt.Fprintf(&text, "failures: %d, %d forgotten, %d left\n", r.Failures, r.Forgotten, len(r.Left))
	_, err := fmt.Fprint(std.out, text.String())
	return err
}
