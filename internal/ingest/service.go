package ingest

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/base/kind"
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
	changer := shardmap.NewChanger(client, view, shardmap.ChangerOptions{Keep: shardmap.HistoryKept(settings.EventRetention), Timeless: shardmap.TimelessKey})
	observer, names := newGrower(settings, changer, log), settings.names()
	return &Service{
		settings: settings,
		events:   events.NewWriter(client, names.Of(kind.Event), view, events.Options{Retention: settings.EventRetention, Observer: observer}),
		counter:  counters.NewWriter(client, names.Of(kind.Counter), view, counters.Options{Observer: observer}),
		boards:   boards.New(client, names.Of(kind.Board), view, boards.Options{Observer: observer, Retention: settings.BoardRetention, DeferRows: true}),
		sessions: sessions.New(client, names.Of(kind.Session), view, sessions.Options{Observer: observer}),
		limiter:  limits.New(client, names.Of(kind.Limit), view, limits.Options{Observer: observer}),
		once:     once.New(client, names.Items, once.Options{Observer: observer}),
		changer:  changer,
		now:      time.Now,
	}, nil
}

// Handler returns the handler of all calls. A container makes it once, in its init phase.
func Handler(ctx context.Context, settings Settings, client Client, log *slog.Logger) (http.Handler, error) {
	service, err := New(settings, client, log)
	if err != nil {
		return nil, err
	}
	httpapi.Early(ctx, log, "reading the shard map", service.Load)
	return httpapi.New(log, Routes(service)), nil
}

// Load reads the shard map, so that the first call need not wait for it.
func (s *Service) Load(ctx context.Context) error { return s.changer.Load(ctx, s.now()) }
