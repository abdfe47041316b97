package throttle

import (
	"context"
	"testing"
	"time"
)

// TestWaitEnds checks that sleep ends with its context.
func TestWaitEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sleep(ctx, time.Hour)
	sleep(t.Context(), time.Nanosecond)
}
