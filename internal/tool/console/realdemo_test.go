//go:build storm

package console_test

import (
	"context"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/systemtest"
	"github.com/hotshard/hotshard/internal/tool/console"
	"github.com/hotshard/hotshard/internal/tool/demo"
	"github.com/hotshard/hotshard/internal/tool/system"
)

func init() { console.StartDemo = startDemo }

// startDemo runs the shortest demo. The test's end stops the system.
func startDemo(t *testing.T) console.RunningDemo {
	s := systemtest.Run(t, system.Options{
		Prefix: enginetest.Prefix("demo"), Window: demo.Window, Idle: demo.IdleWindow, Control: "act",
		Limits: system.Limits{Partitions: demo.Partitions, PartitionWCU: demo.PartitionWCU, TransactionHold: 5 * time.Millisecond},
	})
	ctx, stop := context.WithCancel(t.Context())
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
