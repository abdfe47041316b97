package system

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

type handlerFunc func(ctx context.Context, payload []byte) ([]byte, error)

func (f handlerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

// TestScheduleContinues checks that a task runs again after it failed, and that each failure is logged.
func TestScheduleContinues(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	sc := schedule{payload: "p", every: time.Millisecond, handler: handlerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
		if runs++; runs == 3 {
			cancel()
		}
		return nil, errors.New("not today: " + string(payload))
	})}
	var logs strings.Builder
	sc.run(ctx, slog.New(slog.NewTextHandler(&logs, nil)))
	if runs != 3 || strings.Count(logs.String(), "not today: p") != 2 {
		t.Errorf("%d runs, want 3 with 2 logged failures:\n%s", runs, &logs)
	}
}
