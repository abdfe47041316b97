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
	"github.com/hotshard/hotshard/internal/tool/load"
	"github.com/hotshard/hotshard/internal/tool/system"
)

func init() { console.StartDemo = startDemo }

// startDemo runs the shortest demo. The test's end stops the system.
func startDemo(t *testing.T) console.RunningDemo {
	s, err := system.Start(t.Context(), system.Options{
		Addr: "127.0.0.1:0", Endpoint: enginetest.Endpoint(t), Log: slog.New(slog.DiscardHandler),
		Failures: filepath.Join(t.TempDir(), "failures.jsonl"), Prefix: enginetest.Prefix("demo"), Window: load.DemoWindow, Idle: load.DemoIdleWindow, Control: "act",
		Limits: system.Limits{Partitions: load.DemoPartitions, PartitionWCU: load.DemoPartitionWCU, TransactionHold: 5 * time.Millisecond},
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	systemEnded := make(chan error, 1)
	go func() { systemEnded <- s.Run(ctx) }()
	began, stories := make(chan time.Time, 1), make(chan console.DemoStory, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		story, err := load.RunDemo(ctx, load.Demo{URL: s.URL(), For: load.MinDemo, Began: func(at time.Time) { began <- at }})
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
	return console.RunningDemo{URL: s.URL(), Key: "C#" + load.DemoCounter, Begin: <-began, Story: stories}
}

// shown returns the measurements that the page must show.
func shown(story load.DemoStory, err error) console.DemoStory {
	out := console.DemoStory{Err: err, Hottest: story.HottestAt, Last: story.Began.Add(time.Duration(story.Seconds)*time.Second - load.DemoWindow)}
	for _, c := range story.Changes {
		out.Changes = append(out.Changes, console.ShownChange{Time: c.Time, Shards: c.Shards})
	}
	return out
}
