package throttle

import (
	"context"
	"testing"
	"time"
)

// TestWaitEnds checks that a wait ends with the caller's context.
func TestWaitEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sleep(ctx, time.Hour)
	sleep(t.Context(), time.Nanosecond)
}
