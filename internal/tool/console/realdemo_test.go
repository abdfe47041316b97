//go:build storm

package console_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/console"
	"github.com/hotshard/hotshard/internal/tool/demo"
	"github.com/hotshard/hotshard/internal/tool/system"
)

func init() { console.StartDemo = startDemo }

// startDemo runs the shortest demo. The test's end stops the system.
func startDemo(t *testing.T) console.RunningDemo {
	s, err := system.Start(t.Context(), system.Options{
		Addr: "127.0.0.1:0", Endpoint: enginetest.Endpoint(t), Log: slog.New(slog.DiscardHandler),
		Failures: filepath.Join(t.TempDir(), "failures.jsonl"), Prefix: enginetest.Prefix("demo"), Window: demo.Window, Idle: demo.IdleWindow, Control: "act",
		Limits: system.Limits{Partitions: demo.Partitions, PartitionWCU: demo.PartitionWCU, TransactionHold: 5 * time.Millisecond},
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	systemEnded := make(chan error, 1)
	go func() { systemEnded <- s.Run(ctx) }()
	began, stories := make(chan time.Time, 1), make(chan console.DemoStory, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		story, err := demo.Run(ctx, demo.Options{URL: s.URL(), For: demo.MinFor, Began: func(at time.Time) { began <- at }})
		if err == nil {
			err = story.Err()
		}
		stories <- shown(story, err)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		require.NoError(t, <-systemEnded)
	})
	return console.RunningDemo{URL: s.URL(), Key: "C#" + demo.Counter, Begin: <-began, Story: stories}
}

// shown returns the measurements that the page must show.
func shown(story demo.Story, err error) console.DemoStory {
	out := console.DemoStory{Err: err, Hottest: story.HottestAt, Last: story.Began.Add(time.Duration(story.Seconds)*time.Second - demo.Window)}
	for _, c := range story.Changes {
		out.Changes = append(out.Changes, console.ShownChange{Time: c.Time, Shards: c.Shards})
	}
	return out
}
