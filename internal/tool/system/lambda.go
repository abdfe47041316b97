package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/aws/lambda"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Lambda configures the model of Lambda: pools of containers for the HTTP functions, and a quota of all functions, a
// tenth of which is reserved for each function of the stream. The zero value is no model: one process serves all
// callers, which is faster on one machine and less like Lambda.
type Lambda struct {
	Containers  int           // maximum of each HTTP function; 0 is only the quota
	Concurrency int           // concurrent invocations of all functions; 0 is Lambda's default, 1,000
	ColdStart   time.Duration // minimum duration of a container's first request
	// Starters start containers, by the function's name: ingest, query. Other functions run as handlers in this
	// process.
	Starters map[string]Starter
}

// Starter returns a function that starts containers. They use the tables of the engine at a URL, and have settings as
// additional environment variables.
type Starter = func(endpoint string, names schema.Names, settings map[string]string) lambda.Start

// modelled reports whether the model is configured.
func (l Lambda) modelled() bool { return l.Containers > 0 || l.Concurrency > 0 }

// Bounds of the model. A container in this process takes about 1 MB.
const (
	maxContainers = 10_000
	maxColdStart  = 10 * time.Second // as in Lambda's init phase
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

// fleet runs the model: pools of containers for the HTTP functions, and the quota of all functions. The zero value is
// for one process that serves all callers.
type fleet struct {
	quota    *lambda.Quota            // shared by the functions
	reserved map[string]*lambda.Quota // of each function of the stream, by name
	pools    map[string]*lambda.Pool  // of each HTTP function, by name
}

// start makes a pool for each HTTP function. starts has the functions that start its containers.
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

// reserve makes the quotas. Each function of the stream reserves a tenth, as a deployment reserves 100 of an account's
// 1,000. So a storm on the API can't block the functions that respond to it. Below ten all functions share the quota:
// Lambda lets a small account reserve nothing.
func (f *fleet) reserve(most int) {
	f.quota, f.reserved = lambda.NewQuota(most), map[string]*lambda.Quota{}
	for _, name := range []string{detectorName, aggregatorName} {
		if part := most / 10; part > 0 {
			f.reserved[name] = f.quota.Reserve(part)
		}
	}
}

// admit returns a function that waits until a function of the stream may be invoked. It returns nil if there is no
// quota.
func (f *fleet) admit(name string) func(context.Context) (release func(), err error) {
	switch {
	case f.quota == nil:
		return nil
	case f.reserved[name] != nil:
		return f.reserved[name].Admit
	}
	return f.quota.Admit
}

// route sends reads to query, and all other methods to ingest. The function itself rejects unknown calls.
func (f *fleet) route(w http.ResponseWriter, r *http.Request) {
	name := ingestName
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		name = queryName
	}
	f.pools[name].ServeHTTP(w, r)
}

// Containers returns the figures of the container pools, by function, or nil without Lambda's model.
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

// Reserved returns the use of each reserved quota, by function. It is empty if none is reserved.
func (f *fleet) Reserved() map[string]lambda.QuotaStats {
	stats := map[string]lambda.QuotaStats{}
	for name, quota := range f.reserved {
		stats[name] = quota.Stats()
	}
	return stats
}

// Concurrency returns the use of the shared quota, or the zero value without Lambda's model.
func (f *fleet) Concurrency() lambda.QuotaStats {
	if f.quota == nil {
		return lambda.QuotaStats{}
	}
	return f.quota.Stats()
}
