package rig

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestQuantile(t *testing.T) {
	list := []time.Duration{1, 2, 3, 4}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 4, 1: 4} {
		if got := Quantile(list, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if Quantile([]int(nil), 0.5) != 0 {
		t.Error("a quantile of nothing")
	}
}

// TestCPUOf checks that a process's CPU time is what the process itself is told.
func TestCPUOf(t *testing.T) {
	for CPU() < 50*time.Millisecond { // uses it
	}
	before := CPU()
	got, err := CPUOf(os.Getpid())
	if after := CPU(); err != nil || got < before-2*tickOf || got > after+2*tickOf {
		t.Errorf("%v, %v; want %v to %v", got, err, before, after)
	}
}

// TestPace makes as many calls as the rates come to, whatever the ticks.
func TestPace(t *testing.T) {
	for want, rate := range map[int]func(time.Duration) float64{
		100: Steady(50), 14: Steady(7), 0: Steady(0),
		200: func(since time.Duration) float64 { return 100 * since.Seconds() },
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			Pace(t.Context(), 2*time.Second, rate, func(time.Time) { n++ })
			if n != want {
				t.Errorf("%d calls, want %d", n, want)
			}
		})
	}
}

func TestStart(t *testing.T) {
	p := Program{Name: "some", Flags: func(f *flag.FlagSet) func(context.Context, *Run) error {
		n := f.Int("n", 1, "times")
		f.String("out", "", "file")
		return func(_ context.Context, r *Run) error {
			_, err := fmt.Fprint(r, strings.Repeat("x", *n))
			return err
		}
	}}
	t.Setenv("HOTSHARD_CACHE", t.TempDir())
	var out bytes.Buffer
	if err := p.Start(t.Context(), &out, []string{"-n", "3"}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "go -C bench run . some -n=3\n20") || !strings.HasSuffix(got, "\n\nxxx") {
		t.Errorf("got %q", got)
	}
}
