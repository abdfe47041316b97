package system

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/rollup"
)

// wire makes the four functions from the settings that a deployment would give
// them.
func (s *System) wire(ctx context.Context) error {
	s.server = &http.Server{ReadHeaderTimeout: 5 * time.Second}
	var err error
	if s.server.Handler, err = s.api(); err != nil {
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
	heat, err := settings[hotkey.Settings](s)
	if err != nil {
		return err
	}
	detector, err := hotkey.New(heat, hotkey.Deps{
		Rollups: s.db, Metrics: metrics.NewMemory(maxMetrics), Log: s.options.Log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	for name, handler := range map[string]local.Handler{
		"aggregator": rollup.New(folds, s.db, s.options.Log),
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

// maxMetrics bounds the metric values kept in memory.
const maxMetrics = 10_000

func (s *System) api() (http.Handler, error) {
	writeSettings, err := settings[ingest.Settings](s)
	if err != nil {
		return nil, err
	}
	readSettings, err := settings[query.Settings](s)
	if err != nil {
		return nil, err
	}
	writer, err := ingest.New(writeSettings, s.db)
	if err != nil {
		return nil, err
	}
	reader, err := query.New(readSettings, s.db)
	if err != nil {
		return nil, err
	}
	routes := []httpapi.Routes{ingest.Routes(writer), query.Routes(reader)}
	return httpapi.WithDocs(httpapi.New(s.options.Log, routes...), routes...), nil
}

// settings reads a function's settings as the function does, from what the stack
// would set.
func settings[T any](s *System) (T, error) {
	return env.ParseAsWithOptions[T](env.Options{Environment: map[string]string{
		"HOTSHARD_ITEMS_TABLE":     s.names.Items,
		"HOTSHARD_ROLLUPS_TABLE":   s.names.Rollups,
		"HOTSHARD_SHARD_MAP_TABLE": s.names.ShardMap,
		"HOTSHARD_WINDOW":          s.options.Window.String(),
	}})
}

func (s *System) mapping(name string, source local.Source, handler local.Handler) (*local.Mapping, error) {
	return local.NewMapping(local.MappingOptions{
		Name: name, Source: source, Handler: handler,
		Checkpoints: s.db, CheckpointTable: local.CheckpointTable(s.names), FailureFile: s.options.Failures,
		BatchSize: 1000, BatchingWindow: batchingWindow, TumblingWindow: s.options.Window,
		Attempts: 10, Bisect: true, PartialFailures: true, Logger: s.options.Log,
	})
}
