// Command clocktest runs what reckons with time at other hours and on other dates: the
// end of a day, of a year, a leap day, a year that is far. It builds the tests of suites
// with a package time whose clock can be set, and runs them once for each moment that it is
// given, so that they begin just then:
//
//	make test-clock CLOCKS="2027-01-01T00:00:30Z 2028-02-29T23:58:00Z"
//
// The engine keeps the machine's clock: it removes by that what has expired, and stamps
// the records of its streams with it. So no test may be in suites whose outcome depends on
// either; and a moment that has passed is taken in the first year to come that has the
// day, which leaves the engine nothing to remove. HOTSHARD_ENDPOINT names the engine. It is
// to be run in the module's folder.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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
	moments, err := parseMoments(texts, time.Now())
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(filepath.Join(".cache", "clocktest")) // one folder, so that go finds again what it built
	if err != nil {
		return err
	}
	endpoint := os.Getenv("HOTSHARD_ENDPOINT")
	if endpoint == "" {
		return errors.New("want the URL of an engine in HOTSHARD_ENDPOINT: make test-clock starts one")
	}
	begun := time.Now()
	if err := build(ctx, dir); err != nil {
		return err
	}
	fmt.Printf("%d suites built in %.1f s\n", len(suites), time.Since(begun).Seconds())
	return runAll(ctx, filepath.Join(dir, "bin"), endpoint, moments)
}

// parseMoments reads RFC 3339 times, and moves those that have passed to a later year.
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

// ahead is a moment itself while it lies more than a day ahead, or that of the first year
// in which it does and has the same day.
func ahead(at, now time.Time) time.Time {
	next := at
	for years := 1; next.Before(now.Add(24*time.Hour)) || next.Day() != at.Day(); years++ {
		next = at.AddDate(years, 0, 0)
	}
	return next
}
