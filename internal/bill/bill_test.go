package bill_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/bill"
)

// TestAgainstAnotherReckoning holds sums against those that somebody else made from the same
// prices with other assumptions: ingest of half a GB, other log lines.
func TestAgainstAnotherReckoning(t *testing.T) {
	for _, c := range []struct {
		load bill.Load
		want float64 // USD a day
	}{
		{bill.Load{}, 0.50},
		{bill.Load{Writes: 1000, Batch: 25}, 82 - 2.3},
		{bill.Load{Writes: 1000, Batch: 1}, 217 - 23},
		{bill.Load{Writes: 50_000, Batch: 25}, 3910 - 47},
		{bill.Load{Writes: 50_000, Batch: 1}, 10_600 - 1084},
	} {
		c.load.ItemBytes = 500
		got := bill.Sum(bill.Day(c.load, bill.Default()))
		t.Logf("%+v: %.2f", c.load, got)
		for _, l := range bill.Day(c.load, bill.Default()) {
			t.Logf("   %-30s %-70s %10.2f", l.Item, l.Reckoned, l.Day)
		}
		if math.Abs(got-c.want) > 0.2*c.want {
			t.Errorf("%+v: %.2f USD a day, another reckoning has %.2f", c.load, got, c.want)
		}
	}
}

// TestSettingsTurnTheBill: each setting changes its own line, and the right way.
func TestSettingsTurnTheBill(t *testing.T) {
	busy := bill.Load{Writes: 1000, ItemBytes: 500, Batch: 25}
	sum := func(change func(*bill.Load)) float64 {
		l := busy
		change(&l)
		return bill.Sum(bill.Day(l, bill.Default()))
	}
	base := sum(func(*bill.Load) {})
	for name, c := range map[string]struct {
		change func(*bill.Load)
		want   float64
	}{
		"no access log": {func(l *bill.Load) { l.AccessLogOff = true }, -0.78},
		"traced":        {func(l *bill.Load) { l.Traced = true }, 2.3},
		"provisioned":   {func(l *bill.Load) { l.Provisioned = true }, -41.22},
		"two units":     {func(l *bill.Load) { l.ItemBytes = 1500 }, 54 + 1.3},
	} {
		if got := sum(c.change) - base; math.Abs(got-c.want) > 0.1 {
			t.Errorf("%s: %+.2f USD a day, want %+.2f", name, got, c.want)
		}
	}
}

// TestMoreIsDearer: no amount is negative or no number, and more writes never cost less.
func TestMoreIsDearer(t *testing.T) {
	before := 0.0
	for _, writes := range []float64{0, 0.001, 1, 999, 1000, 1001, 50_000, 1e6, bill.MaxWrites} {
		lines := bill.Day(bill.Load{Writes: writes, ItemBytes: 1024, Batch: 25}, bill.Default())
		for _, l := range lines {
			if !(l.Day >= 0) || math.IsInf(l.Day, 0) || strings.TrimSpace(l.Item) == "" {
				t.Errorf("%v writes a second: %+v", writes, l)
			}
		}
		if sum := bill.Sum(lines); sum < before {
			t.Errorf("%v writes a second cost %.2f, fewer cost %.2f", writes, sum, before)
		} else {
			before = sum
		}
	}
}
