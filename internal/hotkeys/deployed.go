package hotkeys

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/function"
)

// Deployed returns the Handler of a deployed function, with AWS clients of the environment.
func Deployed(ctx context.Context, settings Settings, log *slog.Logger) (*Handler, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	db, err := function.DynamoDB()
	if err != nil {
		return nil, err
	}
	metrics, err := CloudWatchClient()
	if err != nil {
		return nil, err
	}
	source, err := FindSource(ctx, db, settings)
	if err != nil {
		return nil, err
	}
	streams, err := StreamsClient()
	if err != nil {
		return nil, err
	}
	return New(settings, Deps{
		Source: source, Heat: db, Shards: OpenShards(db, settings),
		Partitions: CountPartitions(streams, dynamo.Pause), Metrics: NewCloudWatch(metrics), Log: log, Now: time.Now,
	})
}
