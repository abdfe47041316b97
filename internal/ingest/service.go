package ingest

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
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

// New returns a Service, or an error that lists all faults of the settings.
func New(settings Settings, client Client, log *slog.Logger) (*Service, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	view := shardmap.New(client, settings.ShardMapTable, settings.mapOptions())
	changer := shardmap.NewChanger(client, view, shardmap.ChangerOptions{Keep: shardmap.HistoryKept(settings.EventRetention)})
	watch := newGrower(settings, changer, log)
	return &Service{
		settings: settings,
		events:   events.NewWriter(client, settings.ItemsTable, view, events.Options{Retention: settings.EventRetention, Watch: watch}),
		counter:  counters.NewWriter(client, settings.ItemsTable, view, counters.Options{Watch: watch}),
		boards:   boards.New(client, settings.ItemsTable, view, boards.Options{Watch: watch, Retention: settings.BoardRetention}),
		sessions: sessions.New(client, settings.ItemsTable, view, sessions.Options{Watch: watch}),
		limiter:  limits.New(client, settings.ItemsTable, view, limits.Options{Watch: watch}),
		once:     once.New(client, settings.ItemsTable, view, once.Options{Watch: watch}),
		changer:  changer,
		now:      time.Now,
	}, nil
}

// Handler is the function: what it makes once, in its init phase, to answer all
// requests of a container.
func Handler(ctx context.Context, settings Settings, client Client, log *slog.Logger) (http.Handler, error) {
	service, err := New(settings, client, log)
	if err != nil {
		return nil, err
	}
	httpapi.Early(ctx, log, "reading the shard map", service.Load)
	return httpapi.New(log, Routes(service)), nil
}

// Load reads the shard map, which the first call would otherwise wait for.
func (s *Service) Load(ctx context.Context) error { return s.changer.Load(ctx, s.now()) }
