package rig

import (
	"cmp"
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

// Stream opens that of a table.
func (t *Tables) Stream(ctx context.Context, table string) (*eventsource.Stream, error) {
	return eventsource.OpenStream(ctx, t.DB, dynamolocal.Streams(t.Endpoint, t.Access), table)
}

// Mapping is as deployed, but for what the options say: Name, Source, Handler and
// BatchingWindow at least.
func (t *Tables) Mapping(o eventsource.MappingOptions) (*eventsource.Mapping, error) {
	o.Checkpoints, o.CheckpointTable, o.FailureFile = t.DB, dynamolocal.CheckpointTable(t.Names), t.FailureFile(o.Name)
	o.BatchSize, o.Attempts = cmp.Or(o.BatchSize, 1000), cmp.Or(o.Attempts, 10)
	o.TumblingWindow = cmp.Or(o.TumblingWindow, 10*time.Second)
	o.Bisect, o.PartialFailures = true, true
	if o.Logger == nil {
		o.Logger = Silent
	}
	return eventsource.NewMapping(o)
}
