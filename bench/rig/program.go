// Package rig has what the experiments share: command lines, tables on an engine, and writes at
// a pace.
//
//	var Program = rig.Program{Name: "reads", About: "what reads cost", HeapMB: 128,
//		Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
//			n := f.Int("n", 100, "reads")
//			return func(ctx context.Context, r *rig.Run) error { return measure(ctx, r, r.Endpoint, *n) }
//		}}
package rig

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

// Root is the folder of the product's module. Programs run in that of this module.
const Root = ".."

// Program is one experiment.
type Program struct {
	Name   string
	About  string // in a line
	HeapMB int    // of the engine that it needs; 0 is no engine
	// Flags declares the flags, and returns what is run once they are read.
	Flags func(*flag.FlagSet) func(context.Context, *Run) error
}

// Run is a program under way. What is written to it are the results.
type Run struct {
	io.Writer
	Endpoint string // of the engine
}

// Start runs a program with a command line, and an engine of its own if it needs one.
func (p Program) Start(ctx context.Context, w io.Writer, args []string) (err error) {
	flags := flag.NewFlagSet(p.Name, flag.ExitOnError)
	run := p.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		flags.Usage()
		return errors.New("wrong arguments")
	}
	if err := shareCache(); err != nil {
		return err
	}
	r := &Run{Writer: w}
	if p.HeapMB > 0 {
		engine, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{HeapMB: p.HeapMB, Notice: os.Stderr})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, engine.Stop()) }()
		r.Endpoint = engine.Endpoint()
	}
	fmt.Fprintf(w, "%s\n%s\n\n", p.command(flags), p.machine())
	return run(ctx, r)
}

// shareCache has engines come from where the product's own commands keep them.
func shareCache() error {
	const name = "HOTSHARD_CACHE"
	if os.Getenv(name) != "" {
		return nil
	}
	dir, err := filepath.Abs(filepath.Join(Root, ".cache"))
	if err != nil {
		return err
	}
	return os.Setenv(name, dir)
}

// command is the line that repeats the run.
func (p Program) command(flags *flag.FlagSet) string {
	words := []string{"go -C bench run .", p.Name}
	flags.VisitAll(func(f *flag.Flag) {
		if f.Value.String() != "" {
			words = append(words, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	return strings.Join(words, " ")
}

// machine says when and on what the figures are made.
func (p Program) machine() string {
	line := fmt.Sprintf("%s, %s %s/%s, %d cores", time.Now().UTC().Format("2006-01-02T15:04Z"), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	load, err := os.ReadFile("/proc/loadavg") // Linux only
	if fields := strings.Fields(string(load)); err == nil && len(fields) > 0 {
		line += ", load average " + fields[0]
	}
	if p.HeapMB > 0 {
		line += ", DynamoDB Local in memory"
	}
	return line
}
