package httpapi

import (
	"context"
	"log/slog"
	"time"
)

// earlyTime bounds the calls in a function's init phase; Lambda allows 10 s in all.
const earlyTime = 5 * time.Second

// CallEarly makes a call in the init phase and waits for it, up to earlyTime, so that the first request need not. It
// logs an error: the first request repeats the call. purpose names the call in the log, as in "reading the shard map".
func CallEarly(ctx context.Context, log *slog.Logger, purpose string, call func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, earlyTime)
	defer cancel()
	if err := call(ctx); err != nil {
		log.Warn(purpose+" has to wait for the first call", "error", err)
	}
}
