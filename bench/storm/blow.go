package storm

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/hotshard/hotshard/bench/lambda"
	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// storm is a running scenario.
type storm struct {
	scenario
	client
	system *system.System
	fleet  *lambda.Fleet
	began  time.Time

	mu      sync.Mutex
	seconds []second
	others  map[string]int  // number of other answers, by status and error
	ids     map[string]bool // ids of accepted events
	misread int
}

const (
	prefix    = "storm-" // of the tables' names
	key       = "hot"    // the stormed one
	coldStart = 250 * time.Millisecond
	quietLog  = slog.LevelError + 1 // rejections are expected in a storm
)

// run starts a system, runs the scenario on it, and stops it.
func (s scenario) run(ctx context.Context, n int) (_ run, err error) {
	dir, err := os.MkdirTemp("", "storm")
	if err != nil {
		return run{}, err
	}
	defer os.RemoveAll(dir)
	st := &storm{scenario: s, others: map[string]int{}, ids: map[string]bool{}}
	o, err := st.options(ctx, n, dir)
	if err != nil {
		return run{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if st.system, err = system.Start(ctx, o); err != nil {
		return run{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- st.system.Run(ctx) }()
	r, err := st.blow(ctx)
	if err == nil {
		err = ctx.Err() // interrupted
	}
	cancel()
	return r, errors.Join(err, <-ended, st.fleet.Stop())
}

// options returns the system's options, with the fleet's model. Binaries are built below dir.
func (st *storm) options(ctx context.Context, n int, dir string) (o system.Options, err error) {
	o = system.Options{
		Addr: "127.0.0.1:0", Prefix: prefix, Window: 10 * time.Second, Control: "act", Limits: limits(n),
		Notices: os.Stderr,
		Log:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: quietLog})),
	}
	if st.Fixed {
		o.Control = "off"
	}
	binary := ""
	if st.Served.Processes {
		if binary, err = lambda.Build(ctx, rig.Root, dir, "ingest"); err != nil {
			return o, err
		}
	}
	st.fleet = lambda.NewFleet(lambda.Model{Concurrency: st.Served.Containers, ColdStart: coldStart, Ingest: binary})
	o.Serve = st.fleet.Serve
	return o, nil
}

// blow sends the scenario's writes, and returns the measurements.
func (st *storm) blow(ctx context.Context) (run, error) {
	st.client = newClient(st.system.URL())
	for _, p := range st.Phases {
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
	for _, p := range st.Phases {
		rig.Pace(ctx, p.Lasting, p.rate, func(now time.Time) {
			calls.Go(func() { st.write(ctx, now) })
		})
	}
	calls.Wait()
	close(over)
	watchers.Wait()
	return st.sumUp(ctx)
}

// second returns the second that contains a time.
func (st *storm) second(at time.Time) *second {
	return &st.seconds[max(0, min(int(at.Sub(st.began).Seconds()), len(st.seconds)-1))]
}
