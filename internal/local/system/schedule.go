package system

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/local/eventsource"
)

// schedule hands a function its scheduled payload, as EventBridge Scheduler does in
// a deployment.
type schedule struct {
	function string
	handler  eventsource.Handler
	payload  string
	every    time.Duration
}

// layersEvery is how often heat is folded here: more often than schedules of a deployment run.
const layersEvery = 10 * time.Second

// run invokes the function until ctx ends. A run that fails is logged: there will
// be another.
func (sc *schedule) run(ctx context.Context, f *fleet, log *slog.Logger) {
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
			sc.once(ctx, f, log)
		}
	}
}

func (sc *schedule) once(ctx context.Context, f *fleet, log *slog.Logger) {
	bounded, cancel := context.WithTimeout(ctx, sc.every)
	defer cancel()
	if admit := f.admit(sc.function); admit != nil {
		release, err := admit(bounded)
		if err != nil {
			return // ended, or the next one is due
		}
		defer release()
	}
	if _, err := sc.handler.Invoke(bounded, []byte(sc.payload)); err != nil && ctx.Err() == nil {
		log.Warn("scheduled task failed", "payload", sc.payload, "error", err)
	}
}
