package httpapi

import (
	"context"
	"log/slog"
	"time"
)

// earlyTime bounds the calls in a function's init phase; Lambda allows 10 s in all.
const earlyTime = 5 * time.Second

// CallEarly makes a call in the init phase, within earlyTime, so that the first request need not wait for it. It only
// logs an error, with what, because the first request repeats the call.
func CallEarly(ctx context.Context, log *slog.Logger, what string, call func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, earlyTime)
	defer cancel()
	if err := call(ctx); err != nil {
		log.Warn(what+" has to wait for the first call", "error", err)
	}
}
