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

// functions builds the four functions with the settings that a deployment would have.
type functions struct {
	options Options
	names   schema.Names
	limited *limited
	db      *dynamodb.Client // shared by all functions of this process
}

// parseSettings parses a function's settings from its environment, as the function does in a deployment.
func parseSettings[T any](f *functions) (T, error) {
	return env.ParseAsWithOptions[T](env.Options{Environment: f.environment(), FuncMap: map[reflect.Type]env.ParserFunc{reflect.TypeFor[time.Duration](): display.ParseAny}})
}

// environment returns the environment variables that the stack sets for the functions.
func (f *functions) environment() map[string]string {
	return map[string]string{
		"HOTSHARD_ITEMS_TABLE":     f.names.Items,
		"HOTSHARD_EVENTS_TABLE":    f.names.Events,
		"HOTSHARD_ROLLUPS_TABLE":   f.names.Rollups,
		"HOTSHARD_SHARD_MAP_TABLE": f.names.ShardMap,
		"HOTSHARD_HEAT_TABLE":      f.names.Heat,
		"HOTSHARD_WINDOW":          f.options.Window.String(),
		"HOTSHARD_CONTROL":         f.options.Control,
		"HOTSHARD_PARTITION_WCU":   strconv.Itoa(f.limited.partitionWCU()),
	}
}

// maxNoteAttempts suffices for a cold engine, whose first transactions may exceed their deadline of 500 ms.
const maxNoteAttempts = 20

// notePartitions stores each table's number of partitions, if there is a limiter, in the shard map before the first
// write. In a deployment the detector does it. The calls bypass the limiter, which might throttle them.
func (f *functions) notePartitions(ctx context.Context) error {
	limiter := f.limited.limiter
	if limiter == nil {
		return nil
	}
	settings, err := parseSettings[hotkeys.Settings](f)
	if err != nil {
		return err
	}
	shards := hotkeys.OpenShards(dynamolocal.DynamoDB(f.limited.target, ""), settings)
	for _, table := range schema.StreamTables() {
		err := shard.ErrUnavailable
		for attempt := 0; attempt < maxNoteAttempts && errors.Is(err, shard.ErrUnavailable); attempt++ {
			err = shards.NotePartitions(ctx, table, limiter.Partitions(f.names.Table(table)), time.Now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handler returns the API's handler: that of Options.Serve, or one process that serves all callers.
func (f *functions) handler(ctx context.Context) (http.Handler, error) {
	if f.options.Serve != nil {
		return f.options.Serve(ctx, Deployment{
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

// Deployment is what Options.Serve needs to run the functions ingest and query.
type Deployment struct {
	Endpoint    string            // the engine's URL, through the limiter if there is one
	Names       schema.Names      // of the tables
	Environment map[string]string // settings
	// Ingest and Query return a new handler of the function, as a cold start does. It shares nothing with other handlers.
	Ingest, Query func(context.Context) (http.Handler, error)
}

// ingest returns a handler of the ingest function with its own DynamoDB client.
func (f *functions) ingest(ctx context.Context) (http.Handler, error) {
	settings, err := parseSettings[ingest.Settings](f)
	if err != nil {
		return nil, err
	}
	return ingest.Handler(ctx, settings, f.limited.client(), f.options.Log)
}

// query returns a handler of the query function with its own DynamoDB client.
func (f *functions) query(ctx context.Context) (http.Handler, error) {
	settings, err := parseSettings[query.Settings](f)
	if err != nil {
		return nil, err
	}
	return query.Handler(ctx, settings, f.limited.client(), f.options.Log, ingest.Routes(nil))
}

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
