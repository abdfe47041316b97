package console_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/console"
	"github.com/hotshard/hotshard/internal/load"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/local/system"
	"github.com/hotshard/hotshard/internal/workload"
)

func init() { console.StartViral = startViral }

// startViral runs the whole system, with partitions that take little, and a counter that
// goes viral on it. It returns the address and the counter's name.
func startViral(t *testing.T) (url, counter string) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := system.Start(ctx, system.Options{
		Addr: "127.0.0.1:0", Endpoint: enginetest.Endpoint(t), Prefix: enginetest.Prefix("console"), Window: time.Second, Control: "act",
		Limits:   system.Limits{Partitions: 8, PartitionWCU: 20, Burst: time.Second},
		Failures: filepath.Join(t.TempDir(), "failures.jsonl"), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	go func() { ended <- s.Run(ctx) }()
	go func() {
		source := workload.Synthetic{Kind: workload.Viral, Seed: 1, Count: 100_000, Keys: 100}
		requests, err := source.Source()
		if err == nil {
			_, err = load.Run(ctx, load.Options{Target: s.URL(), Source: requests, Rate: 60})
		}
		if ctx.Err() == nil {
			t.Errorf("the load ended: %v", err)
		}
		ended <- nil
	}()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return s.URL(), "/viral/0"
}
