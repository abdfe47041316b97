package ingest

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
)

// Service writes what callers send.
type Service struct {
	settings Settings
	events   *ddb.EventWriter
	counter  *ddb.CounterWriter
	boards   *ddb.Leaderboards
	sessions *sessions.Store
	limiter  *ddb.Limiter
	once     *ddb.Once
	changer  *ddb.MapChanger
	now      func() time.Time
}

// New returns a Service, or an error that lists all faults of the settings.
func New(settings Settings, client Client, log *slog.Logger) (*Service, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	view := ddb.NewMapWith(client, settings.ShardMapTable, settings.mapOptions())
	changer := ddb.NewMapChanger(client, view, ddb.ChangerOptions{Keep: ddb.HistoryKept(settings.EventRetention)})
	watch := newGrower(settings, changer, log)
	return &Service{
		settings: settings,
		events:   ddb.NewEventWriter(client, settings.ItemsTable, view, settings.EventRetention, watch),
		counter:  ddb.NewCounterWriter(client, settings.ItemsTable, view, watch),
		boards:   ddb.NewLeaderboards(client, settings.ItemsTable, view, watch, settings.BoardRetention),
		sessions: sessions.New(client, settings.ItemsTable, view, watch),
		limiter:  ddb.NewLimiter(client, settings.ItemsTable, view, watch, ddb.LimiterOptions{}),
		once:     ddb.NewOnce(client, settings.ItemsTable, view, watch),
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

func (s *Service) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.settings.Deadline)
}
