package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/lambda"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/runtimeapi"
)

// Lambda is Lambda's model: pools of containers for the HTTP functions, and a quota of
// all functions, of which each function of the stream has a tenth for itself. The zero value is no model: one
// process serves all callers, which is faster on one machine, and says little of what
// happens on Lambda.
type Lambda struct {
	Containers  int           // the most of each HTTP function; 0 is no bound but the quota
	Concurrency int           // invocations of all functions at a time; 0 is Lambda's default, 1,000
	ColdStart   time.Duration // a container's first request waits at least so long
	IdleAfter   time.Duration // containers that were idle for so long are stopped; 0 is never
	AnyIdle     bool          // requests go to any idle container, not to the one that was busy last
	// Binaries are built functions, by name: ingest, query. A container of one is a
	// process, frozen between requests; others are handlers in this process.
	Binaries map[string]string
}

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
	if l.IdleAfter < 0 {
		faults = append(faults, fmt.Errorf("idle time %v: want 0 or more", l.IdleAfter))
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

// serves makes what answers the API: one handler for all callers, or a pool for each
// HTTP function.
func (s *System) serves(ctx context.Context) (http.Handler, error) {
	model := s.options.Lambda
	if !model.modelled() {
		return s.api(ctx)
	}
	s.reserve(cmp.Or(model.Concurrency, lambda.AccountQuota))
	s.pools = map[string]*lambda.Pool{}
	for name, start := range map[string]lambda.Start{ingestName: s.startIngest, queryName: s.startQuery} {
		if binary := model.Binaries[name]; binary != "" {
			start = s.startProcess(binary)
		}
		pool, err := lambda.NewPool(lambda.Options{
			Name: name, Start: start, Quota: s.quota, Containers: model.Containers,
			ColdStart: model.ColdStart, IdleAfter: model.IdleAfter, AnyIdle: model.AnyIdle, Log: s.options.Log,
		})
		if err != nil {
			return nil, err
		}
		s.pools[name] = pool
	}
	return http.HandlerFunc(s.route), nil
}

// reserve makes the quota. Each function of the stream has a tenth of it for itself, as in a
// deployment, where it is 100 of an account's 1,000: a storm on the API that uses up the rest
// can't keep them from what answers the storm. Of less than ten all have the whole, since Lambda
// lets a small account reserve nothing.
func (s *System) reserve(most int) {
	s.quota, s.reserved = lambda.NewQuota(most), map[string]*lambda.Quota{}
	for _, name := range []string{detectorName, aggregatorName} {
		if part := most / 10; part > 0 {
			s.reserved[name] = s.quota.Reserve(part)
		}
	}
}

// admit waits until a function of the stream may be invoked.
func (s *System) admit(name string) func(context.Context) (release func(), err error) {
	switch {
	case s.quota == nil:
		return nil
	case s.reserved[name] != nil:
		return s.reserved[name].Admit
	}
	return s.quota.Admit
}

// route hands a request to its function. All reads are query's and all writes are
// ingest's; what neither has, such as another method, the one that was asked answers.
func (s *System) route(w http.ResponseWriter, r *http.Request) {
	name := ingestName
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		name = queryName
	}
	s.pools[name].ServeHTTP(w, r)
}

// startIngest makes in this process what the function makes in its own, with a client
// of its own.
func (s *System) startIngest(ctx context.Context) (lambda.Container, error) {
	o, err := settings[ingest.Settings](s)
	if err != nil {
		return nil, err
	}
	handler, err := ingest.Handler(ctx, o, s.client(), s.options.Log)
	return lambda.InProcess(handler), err
}

// startQuery is the same for query.
func (s *System) startQuery(ctx context.Context) (lambda.Container, error) {
	o, err := settings[query.Settings](s)
	if err != nil {
		return nil, err
	}
	handler, err := query.Handler(ctx, o, s.client(), s.options.Log, ingest.Routes(nil))
	return lambda.InProcess(handler), err
}

// nowhere refuses connections: port 1 is below those that anybody listens on. The
// HTTP functions send no metrics.
const nowhere = "http://127.0.0.1:1"

// startProcess starts a function's binary with the settings that functions here have.
func (s *System) startProcess(binary string) lambda.Start {
	endpoint := cmp.Or(s.LimitedEndpoint(), s.endpoint)
	variables := runtimeapi.Env(endpoint, local.DefaultAccessKey, nowhere, s.names)
	for name, value := range s.environment() {
		variables = append(variables, name+"="+value)
	}
	return func(ctx context.Context) (lambda.Container, error) {
		return lambda.StartProcess(ctx, runtimeapi.Options{Binary: binary, Env: variables})
	}
}

// Containers are the figures of the pools of containers, by function; nil without
// Lambda's model.
func (s *System) Containers() map[string]lambda.Stats {
	if s.pools == nil {
		return nil
	}
	stats := map[string]lambda.Stats{}
	for name, p := range s.pools {
		stats[name] = p.Stats()
	}
	return stats
}

// Reserved is how each function of the stream uses what is reserved for it; empty where
// nothing is.
func (s *System) Reserved() map[string]lambda.QuotaStats {
	stats := map[string]lambda.QuotaStats{}
	for name, quota := range s.reserved {
		stats[name] = quota.Stats()
	}
	return stats
}

// Concurrency is how the quota that functions share is used; zero without Lambda's
// model.
func (s *System) Concurrency() lambda.QuotaStats {
	if s.quota == nil {
		return lambda.QuotaStats{}
	}
	return s.quota.Stats()
}
