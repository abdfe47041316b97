package system

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/httpapi/docs"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/rollup"
)

// Bounds of what a client may leave open, of the API and of the limiter's proxy.
const (
	headerTime = 5 * time.Second // from a request's first byte to the end of its headers
	idleTime   = time.Minute     // between two requests of a connection
)

// wire makes the four functions from the settings that a deployment would give
// them.
func (s *System) wire(ctx context.Context) error {
	s.server = &http.Server{ReadHeaderTimeout: headerTime, IdleTimeout: idleTime}
	api, err := s.serves(ctx)
	if err != nil {
		return err
	}
	s.server.Handler = httpapi.ForHostsOf(s.options.Addr, s.withConsole(api))
	source, err := eventsource.OpenStream(ctx, local.Streams(s.endpoint, ""), s.names.Items)
	if err != nil {
		return fmt.Errorf("opening the stream of %s: %w", s.names.Items, err)
	}
	folds, err := settings[rollup.Settings](s)
	if err != nil {
		return err
	}
	aggregator, err := rollup.New(folds, s.functions, s.options.Log)
	if err != nil {
		return err
	}
	s.schedules = append(s.schedules, compactSchedule(aggregator), boardsSchedule(aggregator, folds))
	detector, err := s.detector()
	if err != nil {
		return err
	}
	for _, of := range []struct {
		name    string
		handler eventsource.Handler
	}{{aggregatorName, aggregator}, {detectorName, detector}} {
		m, err := s.mapping(of.name, source, of.handler)
		if err != nil {
			return fmt.Errorf("event source mapping of %s: %w", of.name, err)
		}
		s.mappings = append(s.mappings, m)
	}
	return nil
}

// detector makes the hotkeys function, with its schedule.
func (s *System) detector() (*hotkey.Handler, error) {
	o, err := settings[hotkey.Settings](s)
	if err != nil {
		return nil, err
	}
	deps := hotkey.Deps{
		Heat:    s.functions,
		Shards:  hotkey.OpenShards(s.functions, o),
		Metrics: metrics.NewMemory(maxMetrics), Log: s.options.Log, Now: time.Now,
	}
	if s.limiter != nil { // the engine has one stream shard, whatever the limiter has
		deps.Partitions = func(context.Context, string) (int, error) { return s.limiter.Partitions(s.names.Items), nil }
	}
	detector, err := hotkey.New(o, deps)
	s.schedules = append(s.schedules, layersSchedule(detector), shrinkSchedule(detector, o))
	return detector, err
}

// maxMetrics bounds the metric values kept in memory.
const maxMetrics = 10_000

// api is the handler of one process that serves all callers.
func (s *System) api(ctx context.Context) (http.Handler, error) {
	writeSettings, err := settings[ingest.Settings](s)
	if err != nil {
		return nil, err
	}
	readSettings, err := settings[query.Settings](s)
	if err != nil {
		return nil, err
	}
	writer, err := ingest.New(writeSettings, s.functions, s.options.Log)
	if err != nil {
		return nil, err
	}
	reader, err := query.New(readSettings, s.functions)
	if err != nil {
		return nil, err
	}
	httpapi.Early(ctx, s.options.Log, "reading the shard map for writes", writer.Load)
	httpapi.Early(ctx, s.options.Log, "reading the shard map for reads", reader.Load)
	routes := []httpapi.Routes{ingest.Routes(writer), query.Routes(reader)}
	return docs.With(httpapi.New(s.options.Log, routes...), routes...), nil
}

// settings reads a function's settings as the function does.
func settings[T any](s *System) (T, error) {
	return env.ParseAsWithOptions[T](env.Options{Environment: s.environment()})
}

// environment is what the stack would set for the functions.
func (s *System) environment() map[string]string {
	set := map[string]string{
		"HOTSHARD_ITEMS_TABLE":     s.names.Items,
		"HOTSHARD_ROLLUPS_TABLE":   s.names.Rollups,
		"HOTSHARD_SHARD_MAP_TABLE": s.names.ShardMap,
		"HOTSHARD_HEAT_TABLE":      s.names.Heat,
		"HOTSHARD_WINDOW":          s.options.Window.String(),
		"HOTSHARD_CONTROL":         s.options.Control,
		"HOTSHARD_PARTITION_WCU":   strconv.Itoa(s.partitionWCU()),
	}
	if s.options.Quiet > 0 {
		set["HOTSHARD_QUIET"] = s.options.Quiet.String()
	}
	if s.options.Ahead > 0 {
		set["HOTSHARD_EVENT_AHEAD"] = s.options.Ahead.String()
	}
	return set
}

func (s *System) mapping(name string, source eventsource.Source, handler eventsource.Handler) (*eventsource.Mapping, error) {
	return eventsource.NewMapping(eventsource.MappingOptions{
		Name: name, Admit: s.admit(name), Source: source, Handler: handler,
		Checkpoints: s.db, CheckpointTable: local.CheckpointTable(s.names), FailureFile: s.options.Failures,
		BatchSize: 1000, BatchingWindow: s.batchingWindow(), TumblingWindow: s.options.Window,
		Attempts: 10, Bisect: true, PartialFailures: true, Logger: s.options.Log,
	})
}
