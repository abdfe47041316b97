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
	defer d.api.client.HTTP.CloseIdleConnections()
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

// driver is one load.
type driver struct {
	Options
	api    *api
	sender *sender
	reader *reader
	ledger *ledger
	meter  *meter
}

func newDriver(o Options) *driver {
	d := &driver{Options: o, api: newAPI(o), ledger: newLedger(o.Verify), meter: &meter{}}
	d.sender = newSender(o, d.api, d.ledger, d.meter)
	d.reader = &reader{api: d.api, board: o.Board, concurrency: o.Concurrency}
	return d
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

// setBoard makes the board one of sums. A board that had scores in another mode
// is an error.
func (d *driver) setBoard(ctx context.Context) error {
	settings := map[string]any{"board": d.Board, "mode": "sum", "size": topSize, "periods": []string{"all"}}
	var answer struct{}
	if err := d.api.insist(ctx, http.MethodPut, "/v1/leaderboards", settings, &answer); err != nil {
		return fmt.Errorf("setting up board %q: %w", d.Board, err)
	}
	return nil
}

// spent is the time that each way of writing took.
type spent struct{ api, bare time.Duration }

// load sends everything, with the probe beside it.
func (d *driver) load(ctx context.Context) (took spent, err error) {
	probe := &probe{sender: d.sender, reader: d.reader}
	group, ctx := errgroup.WithContext(ctx)
	done := make(chan struct{})
	group.Go(func() error { return probe.run(ctx, done) })
	group.Go(func() error {
		defer close(done)
		if d.Bare != nil {
			return d.takeTurns(ctx, &took)
		}
		return d.pump(ctx, &took.api, d.Source.Requests(), d.send)
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
				err := d.pump(ctx, &took.api, each(chunk), d.send)
				return errors.Join(err, d.awaitFold(ctx, chunk[len(chunk)-1].Counter()))
			},
			func() error { return d.pump(ctx, &took.bare, each(chunk), d.sendBare) },
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
	values, err := d.reader.counters(ctx, []string{counter}, strong)
	if err == nil {
		d.reader.awaitSummary(ctx, counter, values[counter])
	}
	return err
}

// send writes a batch through the API.
func (d *driver) send(ctx context.Context, batch []workload.Request) error {
	err := d.sender.send(ctx, batch)
	if err == nil {
		d.Progress(len(batch))
	}
	return err
}

// pump sends requests one way, and adds the time that this took.
func (d *driver) pump(ctx context.Context, took *time.Duration, requests iter.Seq2[workload.Request, error],
	send func(context.Context, []workload.Request) error) error {
	begin := time.Now()
	err := pump(ctx, d.Concurrency, d.Rate, chunks(requests, d.Batch), send)
	*took += time.Since(begin)
	return err
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
