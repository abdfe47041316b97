// Command start measures how large the functions are and how soon they are ready:
// from the start of the process to its first question to the Runtime API.
//
//	make functions ARCHS=amd64
//	go run ./internal/experiment/start dist/amd64
//
// Several folders are measured in turns, so that what the machine does beside it
// slows all of them alike. Nothing is invoked, and no AWS endpoint is needed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/runtimeapi"
	"github.com/hotshard/hotshard/internal/schema"
)

var names = []string{"ingest", "hotkeys", "aggregator", "query"}

func main() {
	runs := flag.Int("runs", 40, "starts of each function")
	flag.Parse()
	if flag.NArg() == 0 || *runs < 1 {
		fmt.Fprintln(os.Stderr, "usage: start [-runs N] FOLDER... (with a folder for each function)")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Printf("%s %s/%s, %d starts each, %s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, *runs, time.Now().UTC().Format("2006-01-02T15:04Z"))
	fmt.Println("| folder | function | size | fastest | median | p90 |\n| --- | --- | ---: | ---: | ---: | ---: |")
	for _, name := range names {
		if err := measure(ctx, name, flag.Args(), *runs); err != nil {
			fmt.Fprintln(os.Stderr, "start:", err)
			os.Exit(1)
		}
	}
}

// measure starts one function of each folder, in turns, and prints a row for each.
func measure(ctx context.Context, name string, folders []string, runs int) error {
	took := make([][]time.Duration, len(folders))
	for range runs {
		for i, folder := range folders {
			d, err := start(ctx, filepath.Join(folder, name, "bootstrap"))
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
		at := func(q float64) float64 { return took[i][int(q*float64(runs-1))].Seconds() * 1000 }
		fmt.Printf("| %s | %s | %.2f MB | %.1f ms | %.1f ms | %.1f ms |\n",
			filepath.Base(folder), name, float64(info.Size())/1e6, at(0), at(0.5), at(0.9))
	}
	return nil
}

// start starts a function once, as Lambda would, and stops it when it is ready.
func start(ctx context.Context, binary string) (time.Duration, error) {
	env := append(runtimeapi.Env("http://127.0.0.1:1", "start", "http://127.0.0.1:1", schema.NamesFor("start-")), "HOME="+os.TempDir())
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
