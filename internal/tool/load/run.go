package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Run sends a workload and returns the result. If an option is invalid or the target does not respond, it sends nothing and
// returns an error. After a later error it returns the error and the result until then. Differences are no error.
func Run(ctx context.Context, options Options) (Result, error) {
	if err := options.Validate(); err != nil {
		return Result{}, err
	}
	if options.Source.Requests == nil {
		return Result{}, errors.New("the source has no requests: set Options.Source")
	}
	driver := newDriver(options.withDefaults())
	defer driver.api.HTTP.CloseIdleConnections()
	if err := driver.checkTarget(ctx); err != nil {
		return Result{}, err
	}
	verifier := &verifier{driver: driver}
	if driver.Verify {
		if err := verifier.prepare(ctx); err != nil {
			return Result{}, fmt.Errorf("reading the stored data before the load: %w", err)
		}
	}
	begin := time.Now()
	err := sendAll(ctx, driver.Concurrency, driver.Rate, driver.Source.Requests(), driver.send)
	result := driver.result(time.Since(begin))
	if err == nil && driver.Verify {
		if result.Verify, err = verifier.compare(ctx); err != nil {
			err = fmt.Errorf("verifying: %w", err)
		}
	}
	return result, err
}

// driver is one load. Its writes and reads are safe for concurrent use.
type driver struct {
	Options
	api    APIClient
	ledger *ledger

	keyPrefix string       // distinguishes this load's Idempotency-Keys from other loads'
	keys      atomic.Int64 // number of keys that were used
	retried   atomic.Int64 // repeated calls
}

// callTimeout is the timeout of one attempt of a call.
const callTimeout = 30 * time.Second

func newDriver(options Options) *driver {
	return &driver{Options: options, ledger: newLedger(options.Verify), keyPrefix: rand.Text(), api: APIClient{Base: options.Target, Sign: options.Sign, HTTP: &http.Client{
		Timeout: callTimeout,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: options.Concurrency,
			IdleConnTimeout:     10 * time.Second,
			DisableCompression:  true,
		},
	}}}
}

// checkTarget returns an error unless GET /healthz of the target returns JSON.
func (d *driver) checkTarget(ctx context.Context) error {
	var health struct {
		Status string `json:"status"`
	}
	err := d.api.Call(ctx, http.MethodGet, "/healthz", "", nil, &health)
	if fault, ok := errors.AsType[*CallError](err); ok && !fault.Unsent {
		return fmt.Errorf("no hotshard API answers at %s: check --target, or start one on this machine with hotshard local: %w", d.Target, err)
	}
	return err
}

// result returns the result of a load that took this time.
func (d *driver) result(took time.Duration) Result {
	ledger := d.ledger
	return Result{
		Workload: d.Source.Name, Target: d.Target, Seed: d.Source.Seed,
		Concurrency: d.Concurrency,
		Requests:    ledger.requests, Accepted: ledger.accepted, Rejected: ledger.rejected, Unknown: ledger.unknown, Retries: int(d.retried.Load()),
		Seconds: took.Seconds(), PerSecond: float64(ledger.requests) / max(took, 1).Seconds(),
	}
}
