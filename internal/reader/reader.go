// Package reader joins the two readers of a table's stream in one function. DynamoDB allows a stream two readers, so the
// second place is left for a function of the user.
//
//	lambda.Start(reader.New(detector, aggregator, log, time.Now))
package reader

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

// Detector counts the write units in batches: see [hotkeys.Handler].
type Detector interface {
	Deliver(ctx context.Context, batch *ddbstream.Batch) (state map[string]string, err error)
	Task(ctx context.Context, name string) ([]byte, error)
}

// Aggregator folds batches: see [fold.Handler].
type Aggregator interface {
	// Deliver returns the sequence numbers from which Lambda must redeliver the batch, or none if all is folded.
	Deliver(ctx context.Context, batch *ddbstream.Batch) (failed []string)
	Task(ctx context.Context, name string) ([]byte, error)
}

// Handler hands each batch of the streams to the detector and to the aggregator.
type Handler struct {
	detector   Detector
	aggregator Aggregator
	log        *slog.Logger
	now        func() time.Time
	tasks      map[string]func(context.Context, string) ([]byte, error) // by name
}

// New returns a Handler, which also runs the scheduled tasks of the detector and of the aggregator.
func New(detector Detector, aggregator Aggregator, log *slog.Logger, now func() time.Time) *Handler {
	h := &Handler{detector, aggregator, log, now, map[string]func(context.Context, string) ([]byte, error){}}
	for task, run := range map[string]func(context.Context, string) ([]byte, error){
		hotkeys.HeatTask: detector.Task, hotkeys.ShrinkTask: detector.Task, fold.CompactionTask: aggregator.Task, fold.BoardsTask: aggregator.Task,
	} {
		name, _ := ddbstream.ParseTask([]byte(task))
		h.tasks[name] = run
	}
	return h
}

// Invoke takes Lambda's payload and returns Lambda's response: the window state of the detector, or the sequence number of
// the first record if the aggregator could not fold all records. It also runs the scheduled tasks.
//
// The detector and the aggregator both get every batch, and neither waits for the other. If one of them fails, Lambda
// redelivers the whole batch with the same state. Then the detector counts the same again, and folds change nothing. Later
// records of the stream shard wait meanwhile. The detector gets no batch that is older than [hotkeys.RecordAge], so its
// errors delay folds for at most an hour.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if name, ok := ddbstream.ParseTask(payload); ok {
		if run := h.tasks[name]; run != nil {
			return run(ctx, name)
		}
		return nil, fmt.Errorf("reader: unknown task %.40q: want one of %q", name, slices.Sorted(maps.Keys(h.tasks)))
	}
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("reader: reading the batch: %w", err)
	}
	folded := make(chan []string, 1)
	go func() { folded <- h.aggregator.Deliver(ctx, batch) }()
	state, err := h.countBatch(ctx, batch)
	failed := <-folded
	if err != nil {
		return nil, err
	}
	if len(failed) > 0 { // with the batch's state, since AWS doesn't say whether Lambda keeps the state of such a response
		return ddbstream.Answer(batch.State, string(batch.Records[0].Sequence))
	}
	return ddbstream.Answer(state)
}

// countBatch passes a batch to the detector unless the batch is too old. The state of a batch that is too old marks the
// tumbling window as incomplete.
func (h *Handler) countBatch(ctx context.Context, batch *ddbstream.Batch) (state map[string]string, err error) {
	if age := h.now().Sub(batch.WindowEnd); batch.Windowed && age > hotkeys.RecordAge {
		h.log.WarnContext(ctx, "batch not counted: it is too old", "records", len(batch.Records), "streamShard", batch.StreamShard(), "age", age.Round(time.Second).String())
		return hotkeys.LostState(), nil
	}
	return h.detector.Deliver(ctx, batch)
}
