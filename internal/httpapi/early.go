package httpapi

import (
	"context"
	"log/slog"
	"time"
)

// earlyTime bounds the calls in a function's init phase; Lambda allows 10 s in all.
const earlyTime = 5 * time.Second

// CallEarly makes a call in the init phase, within earlyTime, so that the first request need not wait for it. It only logs an
// error, because the first request repeats the call. purpose describes the call in the log, such as "reading the shard map".
func CallEarly(ctx context.Context, log *slog.Logger, purpose string, call func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, earlyTime)
	defer cancel()
	if err := call(ctx); err != nil {
		log.Warn(purpose+" has to wait for the first call", "error", err)
	}
}
