package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hotshard/hotshard/internal/local/system"
)

// scenario is one storm on a system of its own.
type scenario struct {
	Name    string
	Kind    string  // counter, event or board
	From    float64 // writes a second offered at first
	To      float64 // and at the end of Ramp
	Ramp    time.Duration
	Lasting time.Duration
	Control string // of hotshard: act or off
	ByOne   bool   // the caller adds one write shard a second while it is refused
	Limits  system.Limits
}

// quiet is above errors: refusals are what the storm is about.
const quiet = slog.LevelError + 1

const (
	prefix       = "storm-" // of the tables
	partitions   = 64
	partitionWCU = 20
	tenfold      = 10 * partitionWCU
	lasting      = 40 * time.Second
)

var limits = system.Limits{Partitions: partitions, PartitionWCU: partitionWCU}

var scenarios = []scenario{
	{Name: "counter, N fixed at 1", Kind: "counter", From: tenfold, Lasting: lasting, Control: "off", Limits: limits},
	{Name: "counter, N grows by one", Kind: "counter", From: tenfold, Lasting: lasting, Control: "off", ByOne: true, Limits: limits},
	{Name: "counter, hotshard", Kind: "counter", From: tenfold, Lasting: lasting, Control: "act", Limits: limits},
	{Name: "events, N fixed at 1", Kind: "event", From: tenfold, Lasting: lasting, Control: "off", Limits: limits},
	{Name: "events, hotshard", Kind: "event", From: tenfold, Lasting: lasting, Control: "act", Limits: limits},
	{Name: "board, N fixed at 1", Kind: "board", From: tenfold, Lasting: lasting, Control: "off", Limits: limits},
	{Name: "board, hotshard", Kind: "board", From: tenfold, Lasting: lasting, Control: "act", Limits: limits},
	{
		Name: "counter, ramp from the threshold to the limit", Kind: "counter", From: 0.7 * partitionWCU, To: partitionWCU,
		Ramp: 30 * time.Second, Lasting: 45 * time.Second, Control: "act", Limits: limits,
	},
	{
		Name: "events, ramp from the threshold to the limit", Kind: "event", From: 0.7 * partitionWCU, To: partitionWCU,
		Ramp: 30 * time.Second, Lasting: 45 * time.Second, Control: "act", Limits: limits,
	},
	{
		Name: "counter, the table's limit instead", Kind: "counter", From: tenfold, Lasting: 15 * time.Second, Control: "act",
		Limits: system.Limits{Partitions: partitions, PartitionWCU: 1000, TableWCU: partitionWCU},
	},
}

// rate is what is offered at a time after the start.
func (s scenario) rate(after time.Duration) float64 {
	if s.Ramp == 0 {
		return s.From
	}
	part := min(1, after.Seconds()/s.Ramp.Seconds())
	return s.From + part*(s.To-s.From)
}

// run starts a system, lets the storm loose on it, and stops it.
func (s scenario) run(ctx context.Context) (result, error) {
	dir, err := os.MkdirTemp("", "storm")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running, err := system.Start(ctx, system.Options{
		Addr: "127.0.0.1:0", Prefix: prefix, Window: 10 * time.Second, Control: s.Control, Limits: s.Limits,
		Failures: filepath.Join(dir, "failures.jsonl"), Notices: os.Stderr,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: quiet})),
	})
	if err != nil {
		return result{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	r, err := s.blow(ctx, running)
	cancel()
	if endErr := <-ended; err == nil {
		err = endErr
	}
	return r, err
}
