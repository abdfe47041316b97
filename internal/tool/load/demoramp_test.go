package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestRampKeepsItsRates checks the number of requests in seconds of each stage.
func TestRampKeepsItsRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		perSecond := map[int]int{}
		for r, err := range rampSource(t.Context(), "x", rampStages(90*time.Second, 20)).Requests() {
			if err != nil || r.Counter() != "x" {
				t.Fatal(r, err)
			}
			perSecond[int(time.Since(begin)/time.Second)]++
		}
		for second, want := range map[int]int{0: 12, 9: 12, 11: 18, 29: 18, 31: 60, 44: 60, 46: 200, 89: 200, 90: 0} {
			if got := perSecond[second]; got < want-1 || got > want+1 {
				t.Errorf("second %d has %d requests, want %d", second, got, want)
			}
		}
	})
}

func TestRampDoesNotCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		for range rampSource(t.Context(), "x", []stage{{10, 10 * time.Second}}).Requests() {
			if n++; n == 10 {
				time.Sleep(5 * time.Second) // as a busy load does
			}
		}
		if n < 50 || n > 53 {
			t.Errorf("%d requests in 5 of 10 seconds at 10 a second, want 50 to 53", n)
		}
	})
}

func TestRampEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		var last error
		for _, err := range rampSource(ctx, "x", rampStages(MinDemo, 20)).Requests() {
			last = err
		}
		if last == nil {
			t.Error("the ramp ended without an error")
		}
	})
}

func TestStagesFillTheRamp(t *testing.T) {
	for _, total := range []time.Duration{MinDemo, 59 * time.Second, time.Minute, 90 * time.Second, MaxDemo} {
		sum := time.Duration(0)
		for _, s := range rampStages(total, 20) {
			sum += s.length
			if s.length <= 0 || s.rate <= 0 {
				t.Errorf("%v: empty stage %+v", total, s)
			}
		}
		if sum != total {
			t.Errorf("the stages of %v last %v", total, sum)
		}
	}
}
