package load

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/workload"
)

// Run sends a workload and returns what it came to. Options that can't be used
// and a target that does not answer are errors before anything is sent. So far
// as it got, the result comes with an error too. Differences that verification
// finds are no error.
func Run(ctx context.Context, options Options) (Result, error) {
	if err := options.Validate(); err != nil {
		return Result{}, err
	}
	if options.Source.Requests == nil {
		return Result{}, errors.New("source: none given")
	}
	d := newDriver(options.withDefaults())
	defer d.api.http.CloseIdleConnections()
	if err := d.ready(ctx); err != nil {
		return Result{}, err
	}
	if d.Board != "" {
		if err := d.setBoard(ctx); err != nil {
			return Result{}, err
		}
	}
	v := &verifier{driver: d}
	if d.Verify {
		if err := v.prepare(ctx); err != nil {
			return Result{}, fmt.Errorf("before the load: %w", err)
		}
	}
	took, err := d.load(ctx)
	result := d.result(took)
	if err == nil && d.Verify {
		if result.Verify, err = v.compare(ctx); err != nil {
			err = fmt.Errorf("verifying: %w", err)
		}
	}
	return result, err
}

// ready finds out before the load whether the target is what it should be.
func (d *driver) ready(ctx context.Context) error {
	var health struct {
		Status string `json:"status"`
	}
	if err := d.api.call(ctx, http.MethodGet, "/healthz", "", nil, &health); err != nil {
		return fmt.Errorf("no hotshard API at %s (start one with hotshard local): %w", d.Target, err)
	}
	return nil
}

// spent is the time that each way of writing took.
type spent struct{ api, bare time.Duration }

// load sends everything, with the probe beside it.
func (d *driver) load(ctx context.Context) (took spent, err error) {
	group, ctx := errgroup.WithContext(ctx)
	done := make(chan struct{})
	group.Go(func() error { return d.probe(ctx, done) })
	group.Go(func() error {
		defer close(done)
		if d.Bare != nil {
			return d.takeTurns(ctx, &took)
		}
		return d.timed(&took.api, func() error { return d.pump(ctx, d.Source.Requests(), d.send) })
	})
	err = group.Wait()
	return took, err
}

// turn is the number of requests after which the API and the baseline change
// places.
const turn = 1000

// takeTurns sends each thousand requests through the API and past it, so that
// both meet the same noise of the machine; who goes first alternates. The folds
// that an API's turn leaves behind are waited for, so that they don't run into
// the baseline's.
func (d *driver) takeTurns(ctx context.Context, took *spent) error {
	apiFirst := true
	for chunk, err := range chunks(d.Source.Requests(), turn) {
		if err != nil {
			return err
		}
		stamp(chunk) // the same events for both
		ways := []func() error{
			func() error {
				err := d.timed(&took.api, func() error { return d.pump(ctx, each(chunk), d.send) })
				return errors.Join(err, d.awaitFold(ctx, chunk[len(chunk)-1].Counter()))
			},
			func() error {
				return d.timed(&took.bare, func() error { return d.pump(ctx, each(chunk), d.sendBare) })
			},
		}
		if !apiFirst {
			ways[0], ways[1] = ways[1], ways[0]
		}
		apiFirst = !apiFirst
		for _, way := range ways {
			if err := way(); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitFold waits until a counter's summary shows what its write shards have, or
// it is clear that it won't.
func (d *driver) awaitFold(ctx context.Context, counter string) error {
	values, err := d.readCounters(ctx, []string{counter}, strong)
	if err == nil {
		d.awaitSummary(ctx, counter, values[counter])
	}
	return err
}

func (d *driver) pump(ctx context.Context, requests iter.Seq2[workload.Request, error],
	send func(context.Context, []workload.Request) error) error {
	return pump(ctx, d.Concurrency, d.Rate, chunks(requests, d.Batch), send)
}

func (d *driver) timed(total *time.Duration, do func() error) error {
	begin := time.Now()
	err := do()
	*total += time.Since(begin)
	return err
}

func each(list []workload.Request) iter.Seq2[workload.Request, error] {
	return func(yield func(workload.Request, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (d *driver) result(took spent) Result {
	l, m := d.ledger, d.meter
	result := Result{
		Workload: d.Source.Name, Target: d.Target, Seed: d.Source.Seed,
		Board: d.Board, Concurrency: d.Concurrency, Batch: d.Batch, Keyed: d.Keyed,
		Requests: l.requests, Accepted: l.accepted, Rejected: l.rejected, Unknown: l.unknown, Retries: m.retries,
		Seconds: took.api.Seconds(), PerSecond: perSecond(l.requests, took.api),
		Latency:   m.calls.percentiles(),
		Freshness: Freshness{Percentiles: m.fresh.percentiles(), Missed: m.missed},
	}
	if d.Bare != nil {
		result.Baseline = &Baseline{Seconds: took.bare.Seconds(), PerSecond: perSecond(l.requests, took.bare)}
		if result.Baseline.PerSecond > 0 {
			result.Baseline.Ratio = result.PerSecond / result.Baseline.PerSecond
		}
	}
	return result
}

func perSecond(n int, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(n) / took.Seconds()
}
