package rig

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace checks that the number of calls in two seconds is the integral of the rate.
func TestPace(t *testing.T) {
	for want, rate := range map[int]func(time.Duration) float64{
		100: func(time.Duration) float64 { return 50 },
		0:   func(time.Duration) float64 { return 0 },
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

// TestStart checks that a program's output begins with its command and the date.
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
		t.Errorf("the output is %q, want the command without defaults, the date and xxx", got)
	}
}
