// Package rig has what the experiments share: command lines, and writes at a pace.
//
//	var Program = rig.Program{Name: "reads", About: "what reads cost",
//		Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
//			n := f.Int("n", 100, "reads")
//			return func(ctx context.Context, r *rig.Run) error { return measure(ctx, r, *n) }
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
)

// Root is the folder of the product's module. Programs run in that of this module.
const Root = ".."

// Program is one experiment.
type Program struct {
	Name  string
	About string // in a line
	// Flags declares the flags, and returns what is run once they are read.
	Flags func(*flag.FlagSet) func(context.Context, *Run) error
}

// Run is a program under way. What is written to it are the results.
type Run struct {
	io.Writer
}

// Start runs a program with a command line.
func (p Program) Start(ctx context.Context, w io.Writer, args []string) error {
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
	fmt.Fprintf(w, "%s\n%s\n\n", p.command(flags), machine())
	return run(ctx, &Run{w})
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
func machine() string {
	line := fmt.Sprintf("%s, %s %s/%s, %d cores", time.Now().UTC().Format("2006-01-02T15:04Z"), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	load, err := os.ReadFile("/proc/loadavg") // Linux only
	if fields := strings.Fields(string(load)); err == nil && len(fields) > 0 {
		line += ", load average " + fields[0]
	}
	return line
}
