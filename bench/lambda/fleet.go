package lambda

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/tool/system"
)

// Model configures a Fleet.
type Model struct {
	Containers  int           // maximum of each HTTP function; 0 is only the quota
	Concurrency int           // concurrent invocations of all functions; 0 is Lambda's default, 1,000
	ColdStart   time.Duration // minimum duration of a container's first request
	Ingest      string        // binary whose processes are ingest's containers; "" runs handlers in this process
}

// Fleet has the pools of the HTTP functions, and the quota of all functions. A tenth is reserved for each function of
// the stream, as a deployment reserves 100 of an account's 1,000. So a storm on the API can't block the functions that
// respond to it.
type Fleet struct {
	model    Model
	quota    *Quota            // shared by the functions
	reserved map[string]*Quota // of each function of the stream, by name
	pools    map[string]*Pool  // of each HTTP function, by name
}

// Names of the HTTP functions.
const (
	ingest = "ingest"
	query  = "query"
)

// NewFleet returns a fleet without containers. It must be stopped.
func NewFleet(m Model) *Fleet {
	most := cmp.Or(m.Concurrency, AccountQuota)
	f := &Fleet{model: m, quota: NewQuota(most), reserved: map[string]*Quota{}}
	for _, name := range []string{"hotkeys", "aggregator"} {
		f.reserved[name] = f.quota.Reserve(most / 10)
	}
	return f
}

// Of returns the model with which a system runs its functions in the fleet.
func (f *Fleet) Of() system.Model {
	return system.Model{Serve: f.serve, Admit: func(ctx context.Context, function string) (func(), error) {
		return f.reserved[function].Admit(ctx)
	}}
}

// serve makes the pools. The handler sends reads to query, and all other methods to ingest, which reject unknown calls.
func (f *Fleet) serve(_ context.Context, d system.Deployment) (http.Handler, error) {
	start := inProcess(d.Ingest)
	if f.model.Ingest != "" {
		start = processes(f.model.Ingest, d)
	}
	f.pools = map[string]*Pool{ingest: f.pool(start), query: f.pool(inProcess(d.Query))}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := ingest
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			name = query
		}
		f.pools[name].ServeHTTP(w, r)
	}), nil
}

func (f *Fleet) pool(start Start) *Pool {
	return &Pool{Start: start, Quota: f.quota, Containers: f.model.Containers, ColdStart: f.model.ColdStart}
}

// Stop stops all containers.
func (f *Fleet) Stop() error {
	var faults []error
	for _, p := range f.pools {
		faults = append(faults, p.Stop())
	}
	return errors.Join(faults...)
}

// Containers returns the figures of the pools, by function.
func (f *Fleet) Containers() map[string]Stats {
	stats := map[string]Stats{}
	for name, p := range f.pools {
		stats[name] = p.Stats()
	}
	return stats
}

// Quotas returns the use of each reserved quota, by function, and of the shared one as "shared".
func (f *Fleet) Quotas() map[string]QuotaStats {
	stats := map[string]QuotaStats{"shared": f.quota.Stats()}
	for name, quota := range f.reserved {
		stats[name] = quota.Stats()
	}
	return stats
}
