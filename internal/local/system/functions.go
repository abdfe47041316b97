package system

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/httpapi/docs"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/local/lambda"
	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/schema"
)

// functions makes the functions from the settings that a deployment would give them.
type functions struct {
	options Options
	names   schema.Names
	limited *limited
	db      *dynamodb.Client // of those that are one for all callers
}

// settings reads a function's settings as the function does.
func settings[T any](f *functions) (T, error) {
	return env.ParseAsWithOptions[T](env.Options{Environment: f.environment()})
}

// environment is what the stack would set for the functions.
func (f *functions) environment() map[string]string {
	set := map[string]string{
		"HOTSHARD_ITEMS_TABLE":     f.names.Items,
		"HOTSHARD_ROLLUPS_TABLE":   f.names.Rollups,
		"HOTSHARD_SHARD_MAP_TABLE": f.names.ShardMap,
		"HOTSHARD_HEAT_TABLE":      f.names.Heat,
		"HOTSHARD_WINDOW":          f.options.Window.String(),
		"HOTSHARD_CONTROL":         f.options.Control,
		"HOTSHARD_PARTITION_WCU":   strconv.Itoa(f.limited.partitionWCU()),
	}
	if f.options.Quiet > 0 {
		set["HOTSHARD_QUIET"] = f.options.Quiet.String()
	}
	if f.options.Ahead > 0 {
		set["HOTSHARD_EVENT_AHEAD"] = f.options.Ahead.String()
	}
	return set
}

// serves makes what answers the API: one handler for all callers, or a fleet with a pool for
// each HTTP function.
func (f *functions) serves(ctx context.Context, pools *fleet) (http.Handler, error) {
	if !f.options.Lambda.modelled() {
		return f.api(ctx)
	}
	if err := pools.start(f.options.Lambda, f.starts(), f.options.Log); err != nil {
		return nil, err
	}
	return http.HandlerFunc(pools.route), nil
}

// api is the handler of one process that serves all callers.
func (f *functions) api(ctx context.Context) (http.Handler, error) {
	writeSettings, err := settings[ingest.Settings](f)
	if err != nil {
		return nil, err
	}
	readSettings, err := settings[query.Settings](f)
	if err != nil {
		return nil, err
	}
	writer, err := ingest.New(writeSettings, f.db, f.options.Log)
	if err != nil {
		return nil, err
	}
	reader, err := query.New(readSettings, f.db)
	if err != nil {
		return nil, err
	}
	httpapi.Early(ctx, f.options.Log, "reading the shard map for writes", writer.Load)
	httpapi.Early(ctx, f.options.Log, "reading the shard map for reads", reader.Load)
	routes := []httpapi.Routes{ingest.Routes(writer), query.Routes(reader)}
	return docs.With(httpapi.New(f.options.Log, routes...), routes...), nil
}

// starts make a container of each HTTP function, by its name.
func (f *functions) starts() map[string]lambda.Start {
	starts := map[string]lambda.Start{ingestName: f.startIngest, queryName: f.startQuery}
	for name, starter := range f.options.Lambda.Starters {
		starts[name] = starter(cmp.Or(f.limited.LimitedEndpoint(), f.limited.target), f.names, f.environment())
	}
	return starts
}

// startIngest makes in this process what the function makes in its own, with a client
// of its own.
func (f *functions) startIngest(ctx context.Context) (lambda.Container, error) {
	o, err := settings[ingest.Settings](f)
	if err != nil {
		return nil, err
	}
	handler, err := ingest.Handler(ctx, o, f.limited.client(), f.options.Log)
	return lambda.InProcess(handler), err
}

// startQuery is the same for query.
func (f *functions) startQuery(ctx context.Context) (lambda.Container, error) {
	o, err := settings[query.Settings](f)
	if err != nil {
		return nil, err
	}
	handler, err := query.Handler(ctx, o, f.limited.client(), f.options.Log, ingest.Routes(nil))
	return lambda.InProcess(handler), err
}

// maxMetrics bounds the metric values kept in memory.
const maxMetrics = 10_000

// detector makes the hotkeys function.
func (f *functions) detector(o hotkey.Settings) (*hotkey.Handler, error) {
	deps := hotkey.Deps{
		Heat:    f.db,
		Shards:  hotkey.OpenShards(f.db, o),
		Metrics: metrics.NewMemory(maxMetrics), Log: f.options.Log, Now: time.Now,
	}
	if limiter := f.limited.limiter; limiter != nil { // the engine has one stream shard, whatever the limiter has
		deps.Partitions = func(context.Context, string) (int, error) { return limiter.Partitions(f.names.Items), nil }
	}
	return hotkey.New(o, deps)
}
