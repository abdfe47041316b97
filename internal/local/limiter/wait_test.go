package limiter

import (
	"context"
	"testing"
	"time"
)

// TestWaitEnds wants a caller that has gone not waited for.
func TestWaitEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sleep(ctx, time.Hour)
	sleep(t.Context(), time.Nanosecond)
}
