//go:build storm

package console_test

import (
	"context"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/systemtest"
	"github.com/hotshard/hotshard/internal/tool/console"
	"github.com/hotshard/hotshard/internal/tool/load"
	"github.com/hotshard/hotshard/internal/tool/system"
	"github.com/hotshard/hotshard/internal/tool/workload"
)

func init() { console.StartViral = startViral }

// startViral runs the whole system with a low partition limit, and a counter that goes viral. It returns the system's URL
// and the counter's name.
func startViral(t *testing.T) (url, counter string) {
	s := systemtest.Run(t, system.Options{
		Prefix: enginetest.Prefix("console"), Window: time.Second, Idle: time.Second, Control: "act",
		Limits: system.Limits{Partitions: 8, PartitionWCU: 20},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		source := workload.Synthetic{Kind: workload.Viral, Seed: 1, Count: 100_000, Keys: 100}
		requests, err := source.Source()
		if err == nil {
			_, err = load.Run(ctx, load.Options{Target: s.URL(), Source: requests, Rate: 60})
		}
		if ctx.Err() == nil {
			t.Errorf("load.Run returned %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return s.URL(), "/viral/0"
}
