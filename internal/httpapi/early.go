package httpapi

import (
	"context"
	"log/slog"
	"time"
)

// earlyTime bounds what a function does before its first call; Lambda gives 10 s to all.
const earlyTime = 5 * time.Second

// Early makes a call that spares the first request some waiting. If it fails, that is
// logged, and the request makes it again.
func Early(ctx context.Context, log *slog.Logger, what string, call func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, earlyTime)
	defer cancel()
	if err := call(ctx); err != nil {
		log.Warn(what+" has to wait for the first call", "error", err)
	}
}
