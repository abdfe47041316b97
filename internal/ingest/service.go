package ingest

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// Client is what ingest calls of DynamoDB.
type Client interface {
	ddb.MapClient
	ddb.CounterClient
	ddb.EventClient
	ddb.OnceClient
}

// Service writes what callers send.
type Service struct {
	settings Settings
	events   *ddb.EventWriter
	counter  *ddb.CounterWriter
	once     *ddb.Once
	now      func() time.Time
}

// New returns a Service, or an error that lists all faults of the settings.
func New(settings Settings, client Client) (*Service, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	shards := ddb.NewMap(client, settings.ShardMapTable)
	return &Service{
		settings: settings,
		events:   ddb.NewEventWriter(client, settings.ItemsTable, shards, settings.EventRetention),
		counter:  ddb.NewCounterWriter(client, settings.ItemsTable, shards),
		once:     ddb.NewOnce(client, settings.ItemsTable),
		now:      time.Now,
	}, nil
}

func (s *Service) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.settings.Deadline)
}
