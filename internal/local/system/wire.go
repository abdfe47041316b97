package system

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/compact"
)

// Bounds of what a client may leave open, of the API and of the limiter's proxy.
const (
	headerTime = 5 * time.Second // from a request's first byte to the end of its headers
	idleTime   = time.Minute     // between two requests of a connection
)

// wire makes the functions: an HTTP server has two of them, the stream and the schedules the
// others.
func (s *System) wire(ctx context.Context) error {
	f := &functions{options: s.options, names: s.names, limited: &s.limited, db: s.limited.client()}
	s.server = &http.Server{ReadHeaderTimeout: headerTime, IdleTimeout: idleTime}
	api, err := f.serves(ctx, &s.fleet)
	if err != nil {
		return err
	}
	s.server.Handler = httpapi.ForHostsOf(s.options.Addr, s.withConsole(api))
	source, err := eventsource.OpenStream(ctx, local.Streams(s.endpoint, ""), s.names.Items)
	if err != nil {
		return fmt.Errorf("opening the stream of %s: %w", s.names.Items, err)
	}
	if err := s.wireAggregator(f, source); err != nil {
		return err
	}
	return s.wireDetector(f, source)
}

// wireAggregator makes the aggregator, with its tasks.
func (s *System) wireAggregator(f *functions, source eventsource.Source) error {
	settings, err := settings[rollup.Settings](f)
	if err != nil {
		return err
	}
	aggregator, err := rollup.New(settings, f.db, s.options.Log)
	if err != nil {
		return err
	}
	s.schedules = append(s.schedules,
		&schedule{aggregatorName, aggregator, compact.Task, compact.Interval},
		&schedule{aggregatorName, aggregator, rollup.BoardsTask, settings.BoardRecheck},
	)
	return s.deliver(aggregatorName, source, aggregator)
}

// wireDetector makes the hotkeys function, with its tasks.
func (s *System) wireDetector(f *functions, source eventsource.Source) error {
	settings, err := settings[hotkey.Settings](f)
	if err != nil {
		return err
	}
	detector, err := f.detector(settings)
	if err != nil {
		return err
	}
	s.schedules = append(s.schedules,
		&schedule{detectorName, detector, hotkey.LayersTask, layersEvery},
		&schedule{detectorName, detector, hotkey.ShrinkTask, settings.TaskInterval()},
	)
	return s.deliver(detectorName, source, detector)
}

// deliver has a function process the stream.
func (s *System) deliver(name string, source eventsource.Source, handler eventsource.Handler) error {
	m, err := eventsource.NewMapping(eventsource.MappingOptions{
		Name: name, Admit: s.admit(name), Source: source, Handler: handler,
		Checkpoints: s.db, CheckpointTable: local.CheckpointTable(s.names), FailureFile: s.options.Failures,
		BatchSize: 1000, BatchingWindow: s.batchingWindow(), TumblingWindow: s.options.Window,
		Attempts: 10, Bisect: true, PartialFailures: true, Logger: s.options.Log,
	})
	if err != nil {
		return fmt.Errorf("event source mapping of %s: %w", name, err)
	}
	s.mappings = append(s.mappings, m)
	return nil
}
