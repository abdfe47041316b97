// Package prove is hotshard prove: an experiment on a new system, on an AWS account or on this machine. It removes the
// system afterwards:
//
//	report, err := prove.Run(ctx, prove.Options{Site: prove.Local{}, Plan: prove.LocalPlan(), Ceiling: 5, Folder: folder})
//	os.WriteFile("prove.md", []byte(report.Markdown()), 0o644)
//
// A run's resources have a unique prefix. The run first writes a note with the prefix to Folder, and removes the note
// when no resource is left. So [Clean] can remove the resources of an interrupted run.
//
// A run counts its use in AWS's billing units, and ends before the cost exceeds the ceiling.
package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/tool/apicall"
)

// Options configures a run.
type Options struct {
	Site    Site
	Plan    Plan
	Ceiling float64   // maximum cost of the run, in USD
	Folder  string    // folder of the runs' notes; it is created
	Notices io.Writer // receives a line for each step; may be nil
}

// Site is a place to make a system: [Local] or [AWS].
type Site interface {
	// About returns one line that describes the site.
	About() string
	// note completes a run's record before anything is made. close stops an engine that note started.
	storeRecord(ctx context.Context, r *Record) (close func() error, err error)
	// start makes the system for a stage of the run, or returns an earlier stage's system. Child processes inherit the
	// lock of held.
	start(ctx context.Context, r Record, s stage, held *note) (*running, error)
	// cleaner returns a cleaner of a record's resources, or nil if they are certainly gone.
	cleaner(ctx context.Context, r Record) (*cleaner, error)
}

// stage is a stage of a run. On this machine each has its own limits.
type stage string

const (
	storms    stage = "storms"
	conflicts stage = "conflicts"
)

// running is a running system.
type running struct {
	api    string                                   // URL of the API
	sign   apicall.Sign                             // signs its calls; nil for unsigned calls
	db     *dynamodb.Client                         // with the partitions' limits, without retries
	billed func(ctx context.Context) (Units, error) // since the start of the run, or of the stage
	stop   func() error
}

// Bounds of a run.
const (
	runTime   = time.Hour        // timeout of all experiments
	cleanTime = 30 * time.Minute // timeout of the removal
)

// Run makes a system, runs the experiments, and removes the system. An error comes with the report so far, which is nil
// if nothing was made.
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
	endSite, err := o.Site.storeRecord(ctx, &record)
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
	r.report.recordEnd(time.Now(), r.meter, err)
	return r.report, err
}

// run is a run in progress.
type run struct {
	Options
	record Record
	held   *note
	meter  *meter
	report *Report
}

func (r *run) say(format string, args ...any) { fmt.Fprintf(r.Notices, format+"\n", args...) }

// experiment runs everything that costs money.
func (r *run) experiment(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, fmt.Errorf("the experiments took longer than %v", runTime))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.meter.stop = stop
	err := r.stages(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return cause // the reason of the other errors
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

// stage starts a system, runs the steps, and stops it.
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
		return fmt.Errorf("reading the used units: %w", err)
	}
	r.report.Billed = r.report.Billed.plus(billed)
	return nil
}

// clean removes the run's resources, even if the run was interrupted, and then its note.
func (r *run) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	r.say("removing the run's resources")
	return cleanNote(ctx, r.Site, r.held, r.record)
}
