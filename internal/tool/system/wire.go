package system

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/reader"
	"github.com/hotshard/hotshard/internal/tool/console"
)

// Names of the functions that read the streams.
const (
	detectorName   = "hotkeys"
	aggregatorName = "aggregator"
	readerName     = "reader" // does the work of both with Options.OneReader
)

// Timeouts of connections to the API and to the limiter's proxy.
const (
	headerTimeout = 5 * time.Second // from a request's first byte to the end of its headers
	idleTimeout   = time.Minute     // between two requests on a connection
)

// connectFunctions connects ingest and query to the HTTP server, and the other functions to the streams and the schedules.
func (s *System) connectFunctions(ctx context.Context) error {
	f := &functions{options: s.options, names: s.names, limited: &s.limited, db: s.limited.client()}
	if err := f.notePartitions(ctx); err != nil {
		return err
	}
	s.server = &http.Server{ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	api, err := f.handler(ctx)
	if err != nil {
		return err
	}
	s.server.Handler = httpapi.ForHostsOf(s.options.Addr, httpapi.SameOrigin(drainBodies(s.withConsole(api))))
	return s.connectStreamReaders(ctx, f)
}

// connectStreamReaders connects the detector and the aggregator to the streams, and schedules their tasks.
func (s *System) connectStreamReaders(ctx context.Context, f *functions) error {
	settings, err := parseSettings[hotkeys.Settings](f)
	if err != nil {
		return err
	}
	detector, err := f.detector(settings)
	if err != nil {
		return err
	}
	aggregator, err := f.aggregator()
	if err != nil {
		return err
	}
	s.schedules = append(s.schedules,
		&schedule{aggregator, fold.CompactionTask, fold.CompactionInterval},
		&schedule{aggregator, fold.BoardsTask, fold.BoardRecheck},
		&schedule{detector, hotkeys.HeatTask, heatInterval},
		&schedule{detector, hotkeys.ShrinkTask, settings.TaskInterval()},
	)
	if s.options.OneReader {
		return s.mapStreams(ctx, f, readerName, reader.New(detector, aggregator, s.options.Log, time.Now))
	}
	return errors.Join(s.mapStreams(ctx, f, aggregatorName, aggregator), s.mapStreams(ctx, f, detectorName, detector))
}

// mapStreams adds an event source mapping from each table's stream to a function.
func (s *System) mapStreams(ctx context.Context, f *functions, function string, handler eventsource.Handler) error {
	for _, table := range schema.StreamTables() {
		source, err := eventsource.OpenStream(ctx, f.db, dynamolocal.Streams(s.endpoint, ""), s.names.Table(table))
		if err != nil {
			return fmt.Errorf("opening the stream of %s: %w", table, err)
		}
		s.mappings = append(s.mappings, eventsource.NewMapping(eventsource.MappingOptions{
			Name: function + "-" + table, Source: source, Handler: handler,
			Checkpoints: s.db, CheckpointTable: dynamolocal.CheckpointTable(s.names),
			BatchSize: 1000, BatchingWindow: s.batchingWindow(), TumblingWindow: s.options.Window, IdleWindow: s.options.Idle,
			Logger: s.options.Log,
		}))
	}
	return nil
}

// withConsole returns a handler that serves the console beside the API.
func (s *System) withConsole(api http.Handler) http.Handler {
	return console.Handler(api, console.About{
		Mode: "local", Where: "this machine", Command: s.options.Commands.Line("shards set", "--target", s.URL()), Version: s.options.Version, Start: s.options.Start, Demo: s.options.Demo,
		Signals: s.signals,
	})
}
