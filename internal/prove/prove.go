// Package prove is hotshard prove: an experiment on a system that it makes for that, and removes
// afterwards, on an AWS account or on this machine:
//
//	report, err := prove.Run(ctx, prove.Options{Site: prove.Local{}, Plan: prove.LocalPlan(), Ceiling: 5, Folder: folder})
//	os.WriteFile("prove.md", []byte(report.Markdown()), 0o644)
//
// What a run makes has names that begin with a prefix of its own. The prefix is written down in
// Folder before anything is made, and the note goes when nothing of that name is left: whatever
// ends a run, [Clean] finds the note and removes the rest.
//
// A run keeps count of what it uses in the units of AWS's bill, and ends before they pass the
// ceiling.
package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/apicall"
)

// Options say what to do, and where.
type Options struct {
	Site    Site
	Plan    Plan
	Ceiling float64   // the most that the run may cost, in USD
	Folder  string    // of the notes of what runs make; it is made
	Notices io.Writer // progress, a line each; nil is nobody
}

// Site is where a system can be made: [Local] or [AWS].
type Site interface {
	// About says in a line where that is.
	About() string
	// note completes what is written down of a run, before anything is made. Its close ends
	// what it started.
	note(ctx context.Context, r *Record) (close func() error, err error)
	// start makes the system for a stage of the run, or gives that of the stage before. Held is
	// the note's lock, which child processes inherit.
	start(ctx context.Context, r Record, s stage, held *note) (*running, error)
	// cleaner removes what a record names.
	cleaner(ctx context.Context, r Record) (*cleaner, error)
}

// stage is a part of a run. On this machine each has limits of its own.
type stage string

const (
	storms    stage = "storms"
	conflicts stage = "conflicts"
)

// running is a system under way.
type running struct {
	api    string                                   // the API's URL
	sign   apicall.Sign                             // its calls; nil is not at all
	db     *dynamodb.Client                         // with the limits of partitions, and without retries
	billed func(ctx context.Context) (Units, error) // since the run began, or the stage
	stop   func() error
}

// Bounds of a run.
const (
	runTime   = time.Hour        // of all experiments, whatever happens
	cleanTime = 30 * time.Minute // of removing what was made
)

// Run makes a system, experiments, and removes it. The report has what was found until the end,
// also with an error; only if nothing was begun it is nil.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Notices == nil {
		o.Notices = io.Discard
	}
	if bound := o.Plan.Bound(); bound > o.Ceiling {
		return nil, fmt.Errorf("the run would cost up to $%.2f, and the ceiling is $%.2f: raise it, or choose a shorter run", bound, o.Ceiling)
	}
	record, err := newRecord(time.Now())
	if err != nil {
		return nil, err
	}
	endSite, err := o.Site.note(ctx, &record)
	if err != nil {
		return nil, err
	}
	held, err := writeNote(o.Folder, record)
	if err != nil {
		return nil, errors.Join(err, endSite())
	}
	r := &run{Options: o, record: record, held: held, meter: newMeter(o.Ceiling, DefaultPrices())}
	r.report = newReport(o, record)
	err = r.experiment(ctx)
	err = errors.Join(err, r.clean(ctx), endSite())
	r.report.end(time.Now(), r.meter, err)
	return r.report, err
}

// run is one under way.
type run struct {
	Options
	record Record
	held   *note
	meter  *meter
	report *Report
}

func (r *run) say(format string, args ...any) { fmt.Fprintf(r.Notices, format+"\n", args...) }

// experiment does all that can cost something.
func (r *run) experiment(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, fmt.Errorf("the experiments took longer than %v", runTime))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.meter.stop = stop
	err := r.stages(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return cause // the reason why everything else failed
	}
	return err
}

func (r *run) stages(ctx context.Context) error {
	for _, s := range []struct {
		stage
		steps []func(context.Context, *running, *caller) error
	}{
		{storms, []func(context.Context, *running, *caller) error{r.cold, r.onset, r.counters, r.events}},
		{conflicts, []func(context.Context, *running, *caller) error{r.keyed}},
	} {
		if err := r.stage(ctx, s.stage, s.steps); err != nil {
			return err
		}
	}
	return nil
}

// stage starts a system, takes the steps, and ends it.
func (r *run) stage(ctx context.Context, s stage, steps []func(context.Context, *running, *caller) error) (err error) {
	r.say("starting the system for %s", s)
	running, err := r.Site.start(ctx, r.record, s, r.held)
	if err != nil {
		return fmt.Errorf("starting the system for %s: %w", s, err)
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	caller := newCaller(running, r.meter)
	for _, step := range steps {
		if err := step(ctx, running, caller); err != nil {
			return err
		}
	}
	billed, err := running.billed(ctx)
	if err != nil {
		return fmt.Errorf("asking what was used: %w", err)
	}
	r.report.Billed = r.report.Billed.plus(billed)
	return nil
}

// clean removes what the run made, also when the run was cut off, and then its note.
func (r *run) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	r.say("removing what was made")
	return cleanNote(ctx, r.Site, r.held, r.record)
}
