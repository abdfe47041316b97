package storm

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/aws/lambda/process"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// storm is a running scenario.
type storm struct {
	scenario
	client
	system *system.System
	keys   []string
	began  time.Time
	writes atomic.Int64

	mu      sync.Mutex
	seconds []second
	others  map[string]int  // number of other answers, by status and error
	ids     map[string]bool // ids of accepted events
	misread int
}

const (
	prefix    = "storm-" // of the tables' names
	quietKeys = 50
	coldStart = 250 * time.Millisecond
	quietLog  = slog.LevelError + 1 // rejections are expected in a storm
)

// run starts a system, runs the scenario on it, and stops it. n selects the placement of keys on partitions: in some
// placements two write shards share a partition, in others none do.
func (s scenario) run(ctx context.Context, n int) (_ run, err error) {
	dir, err := os.MkdirTemp("", "storm")
	if err != nil {
		return run{}, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	model, err := s.Served.model(ctx, dir)
	if err != nil {
		return run{}, err
	}
	o := system.Options{
		Addr: "127.0.0.1:0", Prefix: prefix, Window: 10 * time.Second, Control: "act", Limits: s.Limits, Lambda: model, Ahead: s.Ahead,
		Failures: filepath.Join(dir, "failures.jsonl"), Notices: os.Stderr,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: quietLog})),
	}
	o.Limits.Seed = uint64(n)
	if s.Fixed {
		o.Control = "off"
	}
	running, err := system.Start(ctx, o)
	if err != nil {
		return run{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	r, err := s.blow(ctx, running)
	if err == nil {
		err = ctx.Err() // interrupted
	}
	cancel()
	if endErr := <-ended; err == nil {
		err = endErr
	}
	return r, err
}

// model returns Lambda's model for the API; binaries are built below dir.
func (s served) model(ctx context.Context, dir string) (system.Lambda, error) {
	if s.Processes == 0 {
		return s.inProcess(), nil
	}
	binary, err := process.Build(ctx, rig.Root, dir, "ingest")
	return system.Lambda{Containers: s.Processes, ColdStart: coldStart, Starters: map[string]system.Starter{"ingest": process.Starter(binary)}}, err
}

// inProcess returns the model with all containers in this process. The quota is so high that it leaves this many
// containers after the stream's two functions have reserved a tenth each.
func (s served) inProcess() system.Lambda {
	if s.Containers == 0 {
		return system.Lambda{}
	}
	return system.Lambda{Concurrency: s.Containers * 10 / 8, ColdStart: coldStart}
}

// blow sends the scenario's writes, and returns the measurements.
func (s scenario) blow(ctx context.Context, running *system.System) (run, error) {
	st := &storm{
		scenario: s, client: newClient(running.URL()), system: running, keys: []string{"hot"}, others: map[string]int{}, ids: map[string]bool{},
	}
	for n := 1; n < s.Keys; n++ {
		st.keys = append(st.keys, fmt.Sprintf("hot-%d", n))
	}
	for _, p := range s.Phases {
		for range int(p.Lasting.Seconds()) {
			st.seconds = append(st.seconds, second{Second: len(st.seconds), Storm: p.Storm})
		}
	}
	if err := st.prepare(ctx); err != nil {
		return run{}, err
	}
	st.began = time.Now()
	var calls, watchers sync.WaitGroup
	over := make(chan struct{})
	watchers.Go(func() { st.watch(ctx, over) })
	watchers.Go(func() { st.read(ctx, over) })
	beside := make(chan struct{})
	go func() { defer close(beside); st.offerQuiet(ctx, &calls) }()
	for _, p := range s.Phases {
		st.offer(ctx, p, &calls)
	}
	<-beside
	calls.Wait()
	close(over)
	watchers.Wait()
	return st.sumUp(ctx)
}

// offer sends a phase's writes to the keys in turn.
func (st *storm) offer(ctx context.Context, p phase, calls *sync.WaitGroup) {
	n := 0
	rig.Pace(ctx, p.Lasting, func(since time.Duration) float64 { return float64(len(st.keys)) * p.rate(since) }, func(now time.Time) {
		key := st.keys[n%len(st.keys)]
		n++
		calls.Go(func() { st.write(ctx, key, now) })
	})
}

// offerQuiet sends the writes to quiet keys in all phases.
func (st *storm) offerQuiet(ctx context.Context, calls *sync.WaitGroup) {
	n := 0
	rig.Pace(ctx, time.Duration(len(st.seconds))*time.Second, rig.Steady(quietKeys*st.Quiet), func(now time.Time) {
		key := fmt.Sprintf("quiet-%d", n%quietKeys)
		n++
		calls.Go(func() { st.writeQuiet(ctx, key, now) })
	})
}

// second returns the second that contains a time.
func (st *storm) second(at time.Time) *second {
	return &st.seconds[max(0, min(int(at.Sub(st.began).Seconds()), len(st.seconds)-1))]
}
