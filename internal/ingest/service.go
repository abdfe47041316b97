package ingest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Service writes what callers send.
type Service struct {
	settings Settings
	events   *events.Writer
	counter  *counters.Writer
	boards   *boards.Boards
	sessions *sessions.Store
	limiter  *limits.Limiter
	once     *once.Applier
	changer  *shardmap.Changer
	now      func() time.Time
}

// New returns a Service, or an error that lists all invalid settings.
func New(settings Settings, client Client, log *slog.Logger) (*Service, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	settings.Deadline = cmp.Or(settings.Deadline, Deadline)
	view := shardmap.New(client, settings.ShardMapTable, shardmap.Options{ViewAge: settings.ViewAge, EventAhead: settings.EventAhead})
	changer := shardmap.NewChanger(client, view, shardmap.ChangerOptions{Keep: shardmap.HistoryKept(settings.EventRetention)})
	observer, err := settings.observer(changer, log)
	if err != nil {
		return nil, err
	}
	names := schema.Names{Items: settings.ItemsTable, Events: settings.EventsTable, ShardMap: settings.ShardMapTable}
	return &Service{
		settings: settings,
		events:   events.NewWriter(client, names.Of(schema.Event), view, events.Options{Retention: settings.EventRetention, Observer: observer}),
		counter:  counters.NewWriter(client, names.Of(schema.Counter), view, counters.Options{Observer: observer}),
		boards:   boards.New(client, names.Of(schema.Board), view, boards.Options{Observer: observer, Retention: settings.BoardRetention, DeferRows: true}),
		sessions: sessions.New(client, names.Of(schema.Session), view, sessions.Options{Observer: observer}),
		limiter:  limits.New(client, names.Of(schema.Limit), view, limits.Options{Observer: observer}),
		once:     once.New(client, names.Items, once.Options{Observer: observer, Lifetime: settings.KeyLifetime}),
		changer:  changer,
		now:      time.Now,
	}, nil
}

// observer returns the observer that adds write shards to throttled keys. It is nil if Control is off.
func (s Settings) observer(changer grow.Changer, log *slog.Logger) (shard.Observer, error) {
	if s.Control == growth.Off {
		return nil, nil
	}
	return grow.New(changer, grow.Options{Observe: s.Control == growth.Observe, Logger: log, By: "ingest", Shown: s.MetricNames.Shown})
}

// Handler returns the handler of all calls, after it has tried to read the shard map for up to 5 s. A container calls
// it once, in its init phase.
func Handler(ctx context.Context, settings Settings, client Client, log *slog.Logger) (http.Handler, error) {
	service, err := New(settings, client, log)
	if err != nil {
		return nil, err
	}
	httpapi.CallEarly(ctx, log, "reading the shard map", service.Load)
	return httpapi.New(log, Routes(service)), nil
}

// Load reads the shard map, so that the first call does not wait for it.
func (s *Service) Load(ctx context.Context) error { return s.changer.Load(ctx, s.now()) }
