// Command clocktest runs tests that depend on time at other hours and dates: the end of a day
// or of a year, a leap day, a distant year. It builds the suites with a package time whose
// clock can be ahead. It runs them once for each moment, so that they begin at that moment:
//
//	make test-clock CLOCKS="2027-01-01T00:00:30Z 2028-02-29T23:58:00Z"
//
// The engine keeps the machine's clock, by which it deletes expired items and stamps stream
// records. So suites have no test that depends on either. A moment in the past is moved to the
// next year that has the day, so that the engine deletes nothing. Run it in the module's folder.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, texts []string) error {
	dir, err := filepath.Abs(filepath.Join(".cache", "clocktest")) // a fixed folder, so that go's build cache works
	if err != nil {
		return err
	}
	list, err := overlay(ctx, dir)
	if err != nil {
		return err
	}
	if slices.Equal(texts, []string{"overlay"}) {
		fmt.Println(list)
		return nil
	}
	moments, err := parseMoments(texts, time.Now())
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := build(ctx, dir, list); err != nil {
		return err
	}
	fmt.Printf("%d suites built in %.1f s\n", len(suites), time.Since(begun).Seconds())
	return runAll(ctx, filepath.Join(dir, "bin"), moments)
}

// parseMoments parses RFC 3339 times and moves past ones to a later year.
func parseMoments(texts []string, now time.Time) ([]time.Time, error) {
	if len(texts) == 0 {
		return nil, fmt.Errorf("want moments, as 2027-01-01T00:00:30Z")
	}
	var moments []time.Time
	for _, text := range texts {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, fmt.Errorf("moment %q: want RFC 3339, as 2027-01-01T00:00:30Z", text)
		}
		moments = append(moments, ahead(at.UTC(), now))
	}
	return moments, nil
}

// ahead returns the moment itself if it is more than a day ahead. Otherwise it returns the
// moment in the first later year that has the day.
func ahead(at, now time.Time) time.Time {
	next := at
	for years := 1; next.Before(now.Add(24*time.Hour)) || next.Day() != at.Day(); years++ {
		next = at.AddDate(years, 0, 0)
	}
	return next
}
