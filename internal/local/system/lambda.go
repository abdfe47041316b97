package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/local/lambda"
	"github.com/hotshard/hotshard/internal/schema"
)

// Lambda is Lambda's model: pools of containers for the HTTP functions, and a quota of
// all functions, of which each function of the stream has a tenth for itself. The zero
// value is no model: one process serves all callers, which is faster on one machine, and
// says little of what happens on Lambda.
type Lambda struct {
	Containers  int           // the most of each HTTP function; 0 is no bound but the quota
	Concurrency int           // invocations of all functions at a time; 0 is Lambda's default, 1,000
	ColdStart   time.Duration // a container's first request waits at least so long
	// Starters make the containers of functions, by name: ingest, query. Those of others are
	// handlers in this process.
	Starters map[string]Starter
}

// Starter makes containers of a function that works on the tables of an engine, at a URL, with
// more settings of its environment.
type Starter = func(endpoint string, names schema.Names, settings map[string]string) lambda.Start

// modelled says whether there is a model to run.
func (l Lambda) modelled() bool { return l.Containers > 0 || l.Concurrency > 0 }

// Bounds of the model. A container in this process takes about 1 MB.
const (
	maxContainers = 10_000
	maxColdStart  = 10 * time.Second // as Lambda has it for the init phase
)

func (l Lambda) validate() error {
	var faults []error
	if l.Containers < 0 || l.Containers > maxContainers {
		faults = append(faults, fmt.Errorf("containers %d: want 0 to %d", l.Containers, maxContainers))
	}
	if l.Concurrency < 0 || l.Concurrency > maxContainers {
		faults = append(faults, fmt.Errorf("concurrency %d: want 0 to %d", l.Concurrency, maxContainers))
	}
	if l.ColdStart < 0 || l.ColdStart > maxColdStart {
		faults = append(faults, fmt.Errorf("cold start %v: want 0s to %v", l.ColdStart, maxColdStart))
	}
	return errors.Join(faults...)
}

// Names of the functions.
const (
	ingestName     = "ingest"
	queryName      = "query"
	detectorName   = "hotkeys"
	aggregatorName = "aggregator"
)

// fleet is the model at work: pools of containers for the HTTP functions, and the quota that
// limits all functions. The zero value is for one process that serves all callers.
type fleet struct {
	quota    *lambda.Quota            // that functions share
	reserved map[string]*lambda.Quota // of the functions of the stream alone, by name
	pools    map[string]*lambda.Pool  // of the HTTP functions, by name
}

// start makes a pool for each HTTP function, whose containers are made as starts says by the
// functions' names.
func (f *fleet) start(model Lambda, starts map[string]lambda.Start, log *slog.Logger) error {
	f.reserve(cmp.Or(model.Concurrency, lambda.AccountQuota))
	f.pools = map[string]*lambda.Pool{}
	for name, start := range starts {
		pool, err := lambda.NewPool(lambda.Options{
			Name: name, Start: start, Quota: f.quota, Containers: model.Containers, ColdStart: model.ColdStart, Log: log,
		})
		if err != nil {
			return err
		}
		f.pools[name] = pool
	}
	return nil
}

// stop stops all containers.
func (f *fleet) stop() error {
	var faults []error
	for _, p := range f.pools {
		faults = append(faults, p.Stop())
	}
	return errors.Join(faults...)
}

// reserve makes the quota. Each function of the stream has a tenth of it for itself, as in a
// deployment, where it is 100 of an account's 1,000: a storm on the API that uses up the rest
// can't keep them from what answers the storm. Of less than ten all have the whole, since Lambda
// lets a small account reserve nothing.
func (f *fleet) reserve(most int) {
	f.quota, f.reserved = lambda.NewQuota(most), map[string]*lambda.Quota{}
	for _, name := range []string{detectorName, aggregatorName} {
		if part := most / 10; part > 0 {
			f.reserved[name] = f.quota.Reserve(part)
		}
	}
}

// admit waits until a function of the stream may be invoked; it is nil where all may.
func (f *fleet) admit(name string) func(context.Context) (release func(), err error) {
	switch {
	case f.quota == nil:
		return nil
	case f.reserved[name] != nil:
		return f.reserved[name].Admit
	}
	return f.quota.Admit
}

// route hands a request to its function. All reads are query's and all writes are
// ingest's; what neither has, such as another method, the one that was asked answers.
func (f *fleet) route(w http.ResponseWriter, r *http.Request) {
	name := ingestName
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		name = queryName
	}
	f.pools[name].ServeHTTP(w, r)
}

// Containers are the figures of the pools of containers, by function; nil without
// Lambda's model.
func (f *fleet) Containers() map[string]lambda.Stats {
	if f.pools == nil {
		return nil
	}
	stats := map[string]lambda.Stats{}
	for name, p := range f.pools {
		stats[name] = p.Stats()
	}
	return stats
}

// Reserved is how each function of the stream uses what is reserved for it; empty where
// nothing is.
func (f *fleet) Reserved() map[string]lambda.QuotaStats {
	stats := map[string]lambda.QuotaStats{}
	for name, quota := range f.reserved {
		stats[name] = quota.Stats()
	}
	return stats
}

// Concurrency is how the quota that functions share is used; zero without Lambda's
// model.
func (f *fleet) Concurrency() lambda.QuotaStats {
	if f.quota == nil {
		return lambda.QuotaStats{}
	}
	return f.quota.Stats()
}
