package system

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// schedule invokes a function with its scheduled payload, as EventBridge Scheduler does in a deployment.
type schedule struct {
	handler eventsource.Handler
	payload string
	every   time.Duration // between two invocations, and the timeout of one
}

// heatInterval is the interval of the heat task, shorter than in a deployment.
const heatInterval = 10 * time.Second

// run invokes the function at each interval until ctx ends. It logs a failed invocation and continues.
func (sc *schedule) run(ctx context.Context, log *slog.Logger) {
	for dynamo.Pause(ctx, sc.every) {
		sc.runOnce(ctx, log)
	}
}

func (sc *schedule) runOnce(ctx context.Context, log *slog.Logger) {
	invokeCtx, cancel := context.WithTimeout(ctx, sc.every)
	defer cancel()
	if _, err := sc.handler.Invoke(invokeCtx, []byte(sc.payload)); err != nil && ctx.Err() == nil {
		log.Warn("scheduled task failed", "payload", sc.payload, "error", err)
	}
}
