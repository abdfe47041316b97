// Command bench makes the measurements of docs/performance.md:
//
//	go -C bench run .                          # lists the experiments
//	go -C bench run . storm -help              # an experiment's flags
//
// It is a module of its own, so that what hotshard is compared with is no dependency of
// hotshard's.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/hotshard/hotshard/bench/decoding"
	"github.com/hotshard/hotshard/bench/ranks"
	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/bench/storm"
)

// programs are the experiments.
var programs = []rig.Program{decoding.Program, ranks.Program, storm.Program}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	i := slices.IndexFunc(programs, func(p rig.Program) bool { return p.Name == name })
	if i < 0 {
		fmt.Fprintln(os.Stderr, "usage: go -C bench run . EXPERIMENT [flags]")
		for _, p := range programs {
			fmt.Fprintf(os.Stderr, "  %-12s %s\n", p.Name, p.About)
		}
		os.Exit(2)
	}
	if err := programs[i].Start(ctx, os.Stdout, os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
