package system

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/pkg/shard"
)

// functions makes the functions from the settings that a deployment would have.
type functions struct {
	options Options
	names   schema.Names
	limited *limited
	db      *dynamodb.Client // client of the functions that serve all callers
}

// parseSettings parses a function's settings as the function does.
func parseSettings[T any](f *functions) (T, error) {
	return env.ParseAsWithOptions[T](env.Options{Environment: f.environment(), FuncMap: map[reflect.Type]env.ParserFunc{reflect.TypeFor[time.Duration](): display.ParseAny}})
}

// detectorSettings returns the settings of the detector.
func (f *functions) detectorSettings() (hotkeys.Settings, error) {
	o, err := parseSettings[hotkeys.Settings](f)
	o.Quiet = f.options.Quiet
	return o, err
}

// environment returns the environment variables that the stack sets for the functions.
func (f *functions) environment() map[string]string {
	set := map[string]string{
		"HOTSHARD_ITEMS_TABLE":     f.names.Items,
		"HOTSHARD_EVENTS_TABLE":    f.names.Events,
		"HOTSHARD_ROLLUPS_TABLE":   f.names.Rollups,
		"HOTSHARD_SHARD_MAP_TABLE": f.names.ShardMap,
		"HOTSHARD_HEAT_TABLE":      f.names.Heat,
		"HOTSHARD_WINDOW":          f.options.Window.String(),
		"HOTSHARD_CONTROL":         f.options.Control,
		"HOTSHARD_PARTITION_WCU":   strconv.Itoa(f.limited.partitionWCU()),
	}
	return set
}

// noteTries is enough for a cold engine, whose first transactions may take longer than their deadline of 500 ms.
const noteTries = 20

// notePartitions stores the limiter's numbers of partitions before the first write. It bypasses the limiter, which might
// throttle the calls. In a deployment the detector counts partitions with its first records.
func (f *functions) notePartitions(ctx context.Context) error {
	limiter := f.limited.limiter
	if limiter == nil {
		return nil
	}
	o, err := f.detectorSettings()
	if err != nil {
		return err
	}
	shards := hotkeys.OpenShards(dynamolocal.DynamoDB(f.limited.target, ""), o)
	for _, table := range schema.StreamTables() {
		err := shard.ErrUnavailable
		for try := 0; try < noteTries && errors.Is(err, shard.ErrUnavailable); try++ {
			err = shards.NotePartitions(ctx, table, limiter.Partitions(f.names.Table(table)), time.Now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handler returns the API's handler.
func (f *functions) handler(ctx context.Context) (http.Handler, error) {
	if serve := f.options.Serve; serve != nil {
		return serve(ctx, Deployment{
			Endpoint: cmp.Or(f.limited.LimitedEndpoint(), f.limited.target), Names: f.names, Environment: f.environment(),
			Ingest: f.ingest, Query: f.query,
		})
	}
	return f.api(ctx)
}

// api returns the handler of one process that serves all callers.
func (f *functions) api(ctx context.Context) (http.Handler, error) {
	writeSettings, err := parseSettings[ingest.Settings](f)
	if err != nil {
		return nil, err
	}
	readSettings, err := parseSettings[query.Settings](f)
	if err != nil {
		return nil, err
	}
	readSettings.Commands = f.options.Commands.With("adopt", "--endpoint", f.limited.target)
	writer, err := ingest.New(writeSettings, f.db, f.options.Log)
	if err != nil {
		return nil, err
	}
	reader, err := query.New(readSettings, f.db)
	if err != nil {
		return nil, err
	}
	httpapi.CallEarly(ctx, f.options.Log, "reading the shard map for writes", writer.Load)
	httpapi.CallEarly(ctx, f.options.Log, "reading the shard map for reads", reader.Load)
	routes := []httpapi.Routes{ingest.Routes(writer), query.Routes(reader)}
	return query.WithDocs(httpapi.New(f.options.Log, routes...), routes...), nil
}

// Deployment is what the HTTP functions need.
type Deployment struct {
	Endpoint    string            // the engine's URL, through the limiter if there is one
	Names       schema.Names      // of the tables
	Environment map[string]string // settings
	// Ingest and Query return a handler of the function that shares nothing with others, as a cold start does.
	Ingest, Query func(context.Context) (http.Handler, error)
}

// ingest returns a handler of the ingest function with its own DynamoDB client.
func (f *functions) ingest(ctx context.Context) (http.Handler, error) {
	o, err := parseSettings[ingest.Settings](f)
	if err != nil {
		return nil, err
	}
	return ingest.Handler(ctx, o, f.limited.client(), f.options.Log)
}

// query returns a handler of the query function with its own DynamoDB client.
func (f *functions) query(ctx context.Context) (http.Handler, error) {
	o, err := parseSettings[query.Settings](f)
	if err != nil {
		return nil, err
	}
	client := f.limited.client()
	return query.Handler(ctx, o, client, f.options.Log, ingest.Routes(nil))
}

// detector returns the hotkeys function.
func (f *functions) detector(settings hotkeys.Settings) (*hotkeys.Handler, error) {
	deps := hotkeys.Deps{
		Heat:   f.db,
		Shards: hotkeys.OpenShards(f.db, settings),
		Log:    f.options.Log, Now: time.Now,
	}
	if limiter := f.limited.limiter; limiter != nil { // the engine has one stream shard for any number of partitions
		deps.Partitions = func(_ context.Context, table string) (int, error) {
			return limiter.Partitions(table), nil
		}
	}
	return hotkeys.New(settings, deps)
}

func (f *functions) aggregator() (*fold.Handler, error) {
	settings, err := parseSettings[fold.Settings](f)
	if err != nil {
		return nil, err
	}
	return fold.New(settings, f.db, f.options.Log)
}
