// Package start measures how large the functions are and how soon they are ready:
// from the start of the process to its first question to the Runtime API.
//
//	make functions ARCHS=amd64
//	go -C bench run . start ../dist/amd64
//
// Several folders are measured in turns, so that what the machine does beside it
// slows all of them alike. Nothing is invoked. What a function reads at its start is
// there: a shard map of so many keys, on the engine.
package start

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Program is the experiment.
var Program = rig.Program{
	Name: "start", About: "how large the functions are and how soon they start", HeapMB: 128,
	Args: "FOLDER... (with a folder for each function)",
	Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
		runs := f.Int("runs", 40, "starts of each function")
		maps := f.String("keys", "0", "in the shard map: one or more numbers, with commas between")
		return func(ctx context.Context, r *rig.Run) error {
			fmt.Fprintln(r, "| keys in the map | folder | function | size | fastest | median | p90 |\n| ---: | --- | --- | ---: | ---: | ---: | ---: |")
			for _, text := range strings.Split(*maps, ",") {
				keys, err := strconv.Atoi(text)
				if err != nil || keys < 0 {
					return fmt.Errorf("-keys %s: want numbers with commas between", *maps)
				}
				err = rig.With(ctx, r.Endpoint, func(t *rig.Tables) error { return measureAll(ctx, r, t, keys, *runs) })
				if err != nil {
					return err
				}
			}
			return nil
		}
	},
}

// measureAll measures all functions with a shard map of so many keys, which got their
// counts an hour ago.
func measureAll(ctx context.Context, r *rig.Run, t *rig.Tables, keys, runs int) error {
	group, filling := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range keys {
		group.Go(func() error {
			return t.Pin(filling, schema.BaseKey{Type: kind.Counter, Name: fmt.Sprintf("page/%05d", i)}, 4, time.Now().Add(-time.Hour))
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	env := t.Environment("HOME=" + os.TempDir())
	for _, name := range []string{"ingest", "hotkeys", "aggregator", "query"} {
		if err := measure(ctx, r, env, name, keys, r.Args, runs); err != nil {
			return err
		}
	}
	return nil
}

// measure starts one function of each folder, in turns, and prints a row for each.
func measure(ctx context.Context, w io.Writer, env []string, name string, keys int, folders []string, runs int) error {
	took := make([][]time.Duration, len(folders))
	for range runs {
		for i, folder := range folders {
			d, err := start(ctx, env, filepath.Join(folder, name, "bootstrap"))
			if err != nil {
				return err
			}
			took[i] = append(took[i], d)
		}
	}
	for i, folder := range folders {
		info, err := os.Stat(filepath.Join(folder, name, "bootstrap"))
		if err != nil {
			return fmt.Errorf("reading the size of %s: %w", name, err)
		}
		slices.Sort(took[i])
		at := func(q float64) float64 { return rig.Millis(rig.Quantile(took[i], q)) }
		fmt.Fprintf(w, "| %d | %s | %s | %.2f MB | %.1f ms | %.1f ms | %.1f ms |\n",
			keys, filepath.Base(folder), name, float64(info.Size())/1e6, at(0), at(0.5), at(0.9))
	}
	return nil
}

// start starts a function once, as Lambda would, and stops it when it is ready.
func start(ctx context.Context, env []string, binary string) (time.Duration, error) {
	began := time.Now()
	f, err := runtimeapi.Start(ctx, runtimeapi.Options{Binary: binary, Env: env, Log: os.Stderr})
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if err := f.Stop(); err != nil {
		return 0, errors.Join(errors.New("stopping "+binary), err)
	}
	return took, nil
}
