package system

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/compact"
)

// schedule hands a function its scheduled payload, as EventBridge Scheduler does in
// a deployment.
type schedule struct {
	function string
	handler  eventsource.Handler
	payload  string
	every    time.Duration
}

// shrinkSchedule is that of the task that lowers shard counts.
func shrinkSchedule(detector *hotkey.Handler, settings hotkey.Settings) *schedule {
	return &schedule{function: detectorName, handler: detector, payload: hotkey.ShrinkTask, every: settings.TaskInterval()}
}

// layersEvery is how often heat is folded here: more often than schedules of a deployment run.
const layersEvery = 10 * time.Second

// layersSchedule is that of the task that folds heat items.
func layersSchedule(detector *hotkey.Handler) *schedule {
	return &schedule{function: detectorName, handler: detector, payload: hotkey.LayersTask, every: layersEvery}
}

// compactSchedule is that of the task that keeps summaries small.
func compactSchedule(aggregator eventsource.Handler) *schedule {
	return &schedule{function: aggregatorName, handler: aggregator, payload: compact.Task, every: compact.Interval}
}

// boardsSchedule is that of the task that looks again at tops made from the index.
func boardsSchedule(aggregator eventsource.Handler, settings rollup.Settings) *schedule {
	return &schedule{function: aggregatorName, handler: aggregator, payload: rollup.BoardsTask, every: settings.BoardRecheck}
}

// run invokes the function until ctx ends. A run that fails is logged: there will
// be another.
func (sc *schedule) run(ctx context.Context, s *System) {
	ticker := time.NewTicker(sc.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if ctx.Err() != nil {
				return // both were ready
			}
			sc.once(ctx, s)
		}
	}
}

func (sc *schedule) once(ctx context.Context, s *System) {
	bounded, cancel := context.WithTimeout(ctx, sc.every)
	defer cancel()
	if admit := s.admit(sc.function); admit != nil {
		release, err := admit(bounded)
		if err != nil {
			return // ended, or the next one is due
		}
		defer release()
	}
	if _, err := sc.handler.Invoke(bounded, []byte(sc.payload)); err != nil && ctx.Err() == nil {
		s.options.Log.Warn("scheduled task failed", "payload", sc.payload, "error", err)
	}
}
