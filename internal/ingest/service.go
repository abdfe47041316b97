package ingest

import (
	"context"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// Client is what ingest calls of DynamoDB.
type Client interface {
	ddb.ChangerClient
	ddb.CounterClient
	ddb.EventClient
	ddb.BoardClient
	ddb.SessionClient
	ddb.LimitClient
	SightingClient
}

// Service writes what callers send.
type Service struct {
	settings Settings
	events   *ddb.EventWriter
	counter  *ddb.CounterWriter
	boards   *ddb.Leaderboards
	sessions *ddb.Sessions
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
	watch := newGrowth(settings, client, changer, log)
	return &Service{
		settings: settings,
		events:   ddb.NewEventWriter(client, settings.ItemsTable, view, settings.EventRetention, watch),
		counter:  ddb.NewCounterWriter(client, settings.ItemsTable, view, watch),
		boards:   ddb.NewLeaderboards(client, settings.ItemsTable, view, watch, settings.BoardRetention),
		sessions: ddb.NewSessions(client, settings.ItemsTable, view, watch),
		limiter:  ddb.NewLimiter(client, settings.ItemsTable, view, watch, ddb.LimiterOptions{}),
		once:     ddb.NewOnce(client, settings.ItemsTable, watch),
		changer:  changer,
		now:      time.Now,
	}, nil
}

// Load reads the shard map, which the first call would otherwise wait for.
func (s *Service) Load(ctx context.Context) error { return s.changer.Load(ctx, s.now()) }

func newGrowth(settings Settings, client SightingClient, changer *ddb.MapChanger, log *slog.Logger) *growth {
	return &growth{
		meter:     newMeter(),
		sightings: sightings{client: client, table: settings.ItemsTable, writer: ulid.Make().String()},
		changer:   changer,
		control:   settings.Control,
		names:     settings.MetricNames,
		limit:     float64(settings.PartitionWCU),
		fresh:     2 * settings.Window,
		now:       time.Now,
		log:       log,
		keys:      map[string]*trouble{},
	}
}

func (s *Service) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.settings.Deadline)
}
