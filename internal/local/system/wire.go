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
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// wire makes the four functions from the settings that a deployment would give
// them.
func (s *System) wire(ctx context.Context) error {
	s.server = &http.Server{ReadHeaderTimeout: 5 * time.Second}
	var err error
	if s.server.Handler, err = s.api(ctx); err != nil {
		return err
	}
	source, err := local.OpenStream(ctx, local.Streams(s.endpoint, ""), s.names.Items)
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
	for name, handler := range map[string]local.Handler{
		"aggregator": aggregator,
		"hotkeys":    detector,
	} {
		m, err := s.mapping(name, source, handler)
		if err != nil {
			return fmt.Errorf("event source mapping of %s: %w", name, err)
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
	view := ddb.NewMapWith(s.functions, s.names.ShardMap, o.MapOptions())
	detector, err := hotkey.New(o, hotkey.Deps{
		Rollups: s.functions,
		Shards:  ddb.NewMapChanger(s.functions, view, ddb.ChangerOptions{Keep: ddb.HistoryKept(o.EventRetention)}),
		Metrics: metrics.NewMemory(maxMetrics), Log: s.options.Log, Now: time.Now,
	})
	s.schedules = append(s.schedules, shrinkSchedule(detector, o))
	return detector, err
}

// maxMetrics bounds the metric values kept in memory.
const maxMetrics = 10_000

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
	for _, load := range []func(context.Context) error{writer.Load, reader.Load} {
		if err := load(ctx); err != nil {
			s.options.Log.Warn("reading the shard map has to wait for the first call", "error", err)
		}
	}
	routes := []httpapi.Routes{ingest.Routes(writer), query.Routes(reader)}
	return httpapi.WithDocs(httpapi.New(s.options.Log, routes...), routes...), nil
}

// settings reads a function's settings as the function does, from what the stack
// would set.
func settings[T any](s *System) (T, error) {
	set := map[string]string{
		"HOTSHARD_ITEMS_TABLE":     s.names.Items,
		"HOTSHARD_ROLLUPS_TABLE":   s.names.Rollups,
		"HOTSHARD_SHARD_MAP_TABLE": s.names.ShardMap,
		"HOTSHARD_WINDOW":          s.options.Window.String(),
		"HOTSHARD_CONTROL":         s.options.Control,
		"HOTSHARD_PARTITION_WCU":   strconv.Itoa(s.partitionWCU()),
	}
	if s.options.Quiet > 0 {
		set["HOTSHARD_QUIET"] = s.options.Quiet.String()
	}
	return env.ParseAsWithOptions[T](env.Options{Environment: set})
}

func (s *System) mapping(name string, source local.Source, handler local.Handler) (*local.Mapping, error) {
	return local.NewMapping(local.MappingOptions{
		Name: name, Source: source, Handler: handler,
		Checkpoints: s.db, CheckpointTable: local.CheckpointTable(s.names), FailureFile: s.options.Failures,
		BatchSize: 1000, BatchingWindow: s.batchingWindow(), TumblingWindow: s.options.Window,
		Attempts: 10, Bisect: true, PartialFailures: true, Logger: s.options.Log,
	})
}
