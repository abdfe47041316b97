package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Run sends a workload and returns the result. It sends nothing and returns an error if an option is invalid or the
// target does not respond. A later error comes with the result so far. Differences that verification finds are not
// errors.
func Run(ctx context.Context, options Options) (Result, error) {
	if err := options.Validate(); err != nil {
		return Result{}, err
	}
	if options.Source.Requests == nil {
		return Result{}, errors.New("source: none given")
	}
	d := newDriver(options.withDefaults())
	defer d.api.HTTP.CloseIdleConnections()
	if err := d.ready(ctx); err != nil {
		return Result{}, err
	}
	v := &verifier{driver: d}
	if d.Verify {
		if err := v.prepare(ctx); err != nil {
			return Result{}, fmt.Errorf("before the load: %w", err)
		}
	}
	begin := time.Now()
	err := pump(ctx, d.Concurrency, d.Rate, d.Source.Requests(), d.send)
	result := d.result(time.Since(begin))
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
}

func newDriver(o Options) *driver {
	d := &driver{Options: o, api: newAPI(o), ledger: newLedger(o.Verify)}
	d.sender = newSender(o, d.api, d.ledger)
	d.reader = &reader{api: d.api, concurrency: o.Concurrency}
	return d
}

// ready checks before the load that the target is a hotshard API.
func (d *driver) ready(ctx context.Context) error {
	var health struct {
		Status string `json:"status"`
	}
	err := d.api.Call(ctx, http.MethodGet, "/healthz", "", nil, &health)
	if fault, ok := errors.AsType[*CallError](err); ok && !fault.Unsent {
		return fmt.Errorf("no hotshard API at %s (start one with hotshard local): %w", d.Target, err)
	}
	return err
}

// send sends a request and reports its progress.
func (d *driver) send(ctx context.Context, r Request) error {
	err := d.sender.send(ctx, r)
	if err == nil {
		d.Progress(1)
	}
	return err
}

func (d *driver) result(took time.Duration) Result {
	l := d.ledger
	return Result{
		Workload: d.Source.Name, Target: d.Target, Seed: d.Source.Seed,
		Concurrency: d.Concurrency,
		Requests:    l.requests, Accepted: l.accepted, Rejected: l.rejected, Unknown: l.unknown, Retries: int(d.sender.retries.Load()),
		Seconds: took.Seconds(), PerSecond: float64(l.requests) / max(took, 1).Seconds(),
	}
}
