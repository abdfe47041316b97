package plan_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// sized returns the plan of a demand at default prices.
func sized(t *testing.T, d plan.Demand) plan.Plan {
	t.Helper()
	p, err := plan.New(d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlansByHand compares a plan with figures that the comments calculate.
func TestPlansByHand(t *testing.T) {
	got := sized(t, plan.Demand{
		WriteUnits: 10_000, ItemBytes: 500, Safety: 1.5, TableWriteUnits: 12_000, TableReadUnits: 9_500, TableGB: 120,
	})
	want := plan.Plan{
		Shards:       15,                       // 10,000 * 1.5 / 1,000
		RandomShards: 40, CalculatedShards: 80, // 10,000 / 250 and / 125
		Partitions: plan.Partitions{Throughput: 16, Size: 12, Expected: 16}, // 3.17 + 12; 120 / 10
		Read:       plan.FanOut{Queries: 15, ReadUnits: 7.5, StrongReadUnits: 15},
		// 730 h are 2,628,000 s. 12,000 make 31,536 million, at 0.625; 9,500 make 24,966, at 0.125.
		OnDemand: plan.Cost{Write: 19_710, Read: 3120.75, Storage: 30, Total: 22_860.75},
		// 12,000 * 730 * 0.00065; 9,500 * 730 * 0.00013.
		Provisioned: plan.Cost{Write: 5694, Read: 901.55, Storage: 30, Total: 6625.55},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// TestShardsOfADemand checks the write shards for a key's peak and for random and calculated suffixes.
func TestShardsOfADemand(t *testing.T) {
	for _, c := range []struct {
		demand                     plan.Demand
		shards, random, calculated int
		capped                     bool
	}{
		{plan.Demand{WriteUnits: 1}, 1, 1, 1, false},
		{plan.Demand{WriteUnits: 666}, 1, 3, 6, false},
		{plan.Demand{WriteUnits: 667}, 2, 3, 6, false},
		{plan.Demand{WriteUnits: 1000, Safety: 1}, 1, 4, 8, false},
		{plan.Demand{WriteUnits: 10_000, Safety: 1.1}, 11, 40, 80, false}, // 10,000 * 1.1 is a little more than 11,000 in floating point
		{plan.Demand{WriteUnits: 125_000, Safety: 2}, 250, 500, 1000, false},
		{plan.Demand{WriteUnits: 125_001, Safety: 2}, 251, 501, 1000, true},
		{plan.Demand{WriteUnits: 2_000_000}, 1000, 1000, 1000, true},
		{plan.Demand{WriteUnits: 100_000, Safety: 10}, 1000, 400, 800, false},
		{plan.Demand{WriteUnits: 100_001, Safety: 10}, 1000, 401, 801, true}, // only for the peak
	} {
		got := sized(t, c.demand)
		if got.Shards != c.shards || got.RandomShards != c.random || got.CalculatedShards != c.calculated || got.Capped != c.capped {
			t.Errorf("%+v: %d, %d, %d, capped %v; want %d, %d, %d, %v", c.demand, got.Shards, got.RandomShards, got.CalculatedShards, got.Capped,
				c.shards, c.random, c.calculated, c.capped)
		}
	}
}

// TestPartitionsOfATable checks the partitions for a table's throughput and size.
func TestPartitionsOfATable(t *testing.T) {
	for _, c := range []struct {
		read, write, gb            float64
		throughput, size, expected int
	}{
		{3000, 1000, 25, 2, 3, 3},
		{3001, 0, 0, 2, 0, 2}, // and the key's own unit: 1.001...
		{1500, 500, 10, 1, 1, 1},
		{1500, 500, 10.1, 1, 2, 2},
		{0, 4000, 0, 4, 0, 4},
	} {
		got := sized(t, plan.Demand{WriteUnits: 1, TableReadUnits: c.read, TableWriteUnits: c.write, TableGB: c.gb}).Partitions
		if want := (plan.Partitions{Throughput: c.throughput, Size: c.size, Expected: c.expected}); got != want {
			t.Errorf("%v read, %v write, %v GB: %+v, want %+v", c.read, c.write, c.gb, got, want)
		}
	}
}

// TestReadsOfShards checks the queries and read units of a read of 100 items over all write shards.
func TestReadsOfShards(t *testing.T) {
	for _, c := range []struct {
		peak  float64
		bytes int
		want  plan.FanOut
	}{
		{1, 1, plan.FanOut{Queries: 1, ReadUnits: 0.5, StrongReadUnits: 1}},
		{1, 1024, plan.FanOut{Queries: 1, ReadUnits: 12.5, StrongReadUnits: 25}},
		{10_000, 1024, plan.FanOut{Queries: 10, ReadUnits: 15, StrongReadUnits: 30}},     // 10 KB a query
		{200_000, 1024, plan.FanOut{Queries: 200, ReadUnits: 100, StrongReadUnits: 200}}, // at most one item a query
		{8000, 1500, plan.FanOut{Queries: 8, ReadUnits: 20, StrongReadUnits: 40}},        // 13 or 12 items: 5 units a query
		{3000, 2048, plan.FanOut{Queries: 3, ReadUnits: 25.5, StrongReadUnits: 51}},      // 34, 33 and 33 items of 2 KB: 17 units a query
		{6000, 4096, plan.FanOut{Queries: 6, ReadUnits: 50, StrongReadUnits: 100}},       // 17 or 16 items
	} {
		if got := sized(t, plan.Demand{WriteUnits: c.peak, Safety: 1, ItemBytes: c.bytes}).Read; got != c.want {
			t.Errorf("items of %d bytes at %v WCU/s: %+v, want %+v", c.bytes, c.peak, got, c.want)
		}
	}
}

// TestDefaultsOfADemand checks that a demand without defaults has the plan of one that names them.
func TestDefaultsOfADemand(t *testing.T) {
	short := sized(t, plan.Demand{WriteUnits: 10_000})
	long := sized(t, plan.Demand{WriteUnits: 10_000, ItemBytes: 1024, Safety: 1.5, TableWriteUnits: 10_000})
	if diff := cmp.Diff(long, short); diff != "" || long.Shards != 15 || long.Read.StrongReadUnits != 30 {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// TestBoundsOfDemands checks the values of each field of a demand on both sides of their bounds. The error
// of an invalid one names the field.
func TestBoundsOfDemands(t *testing.T) {
	for _, c := range []struct {
		field          string
		set            func(*plan.Demand, float64)
		valid, invalid []float64
	}{
		{"WriteUnits", func(d *plan.Demand, v float64) { d.WriteUnits = v }, []float64{1e-9, 1e12}, []float64{-1, 0, 1.1e12}},
		{"ItemBytes", func(d *plan.Demand, v float64) { d.ItemBytes = int(v) }, []float64{0, 1, 409_600}, []float64{-1, 409_601}},
		{"Safety", func(d *plan.Demand, v float64) { d.Safety = v }, []float64{0, 1, 1000}, []float64{0.99, 1000.01}},
		{"TableWriteUnits", func(d *plan.Demand, v float64) { d.TableWriteUnits = v }, []float64{0, 100, 1e12}, []float64{-1, 99.9, math.Inf(1)}},
		{"TableReadUnits", func(d *plan.Demand, v float64) { d.TableReadUnits = v }, []float64{0, 1e12}, []float64{-0.1, 1.1e12}},
		{"TableGB", func(d *plan.Demand, v float64) { d.TableGB = v }, []float64{0, 1e12}, []float64{-0.1, 1.1e12}},
	} {
		for i, v := range append(c.valid, c.invalid...) {
			d := plan.Demand{WriteUnits: 100}
			c.set(&d, v)
			_, err := plan.New(d)
			fault, ok := errors.AsType[*plan.DemandError](err)
			if valid := i < len(c.valid); valid != (err == nil) || !valid && (!ok || fault.Field != c.field || !strings.HasPrefix(fault.Error(), fmt.Sprintf("plan: %s is %v: ", c.field, fault.Value))) {
				t.Errorf("%s of %v: error %v, want valid: %t", c.field, v, err, valid)
			}
		}
	}
}

// TestGrownCounts checks the count of a key that needs more write shards: at least twice as many.
func TestGrownCounts(t *testing.T) {
	for _, c := range [][3]int{{1, 1, 2}, {4, 8, 8}, {4, 9, 9}, {4, 2, 8}, {400, 900, 900}, {500, 900, 1000}, {600, 1, 1000}, {1, 2000, 1000}} {
		if got := plan.Grown(c[0], c[1]); got != c[2] {
			t.Errorf("%d write shards that need %d grow to %d, want %d", c[0], c[1], got, c[2])
		}
	}
	for bytes, want := range map[int]int{0: 1, 1: 1, 1024: 1, 1025: 2, 2048: 2, 409_600: 400} {
		if got := plan.WriteUnits(bytes); got != want {
			t.Errorf("an item of %d bytes: %d write units, want %d", bytes, got, want)
		}
	}
}

// TestShardsAreSufficientAndMinimal checks that the write shards take the peak times Safety, and that one fewer does not.
func TestShardsAreSufficientAndMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := plan.Demand{WriteUnits: rapid.Float64Range(1, 400_000).Draw(t, "units"), Safety: rapid.Float64Range(1, 2).Draw(t, "safety")}
		p, err := plan.New(d)
		if err != nil {
			t.Fatal(err)
		}
		const noise = 1 + 1e-9
		capacity := float64(p.Shards) * plan.PartitionWriteUnits
		if want := d.WriteUnits * d.Safety; want > capacity*noise || p.Shards > 1 && want*noise < capacity-plan.PartitionWriteUnits {
			t.Fatalf("%v units on %d write shards", want, p.Shards)
		}
	})
}

// TestNeededOfNaN checks that NaN needs 1 write shard.
func TestNeededOfNaN(t *testing.T) {
	nan := math.NaN()
	if n := plan.Needed(10_000*1.1, 1000, 1); n != 11 {
		t.Errorf("10,000 and a tenth more: %d, want 11", n)
	}
	for _, n := range []int{plan.Needed(nan, 1000, 1), plan.Needed(10_000, nan, 1), plan.Needed(10_000, 1000, nan)} {
		if n != 1 {
			t.Errorf("%d write shards for NaN, want 1", n)
		}
	}
}

// TestBatchingWindow checks the batching window by the number of stream shards.
func TestBatchingWindow(t *testing.T) {
	for shards, want := range map[int]time.Duration{4: time.Second, 50: time.Second, 51: 5 * time.Second, 8000: 5 * time.Second} {
		if got := plan.BatchingWindow(shards); got != want {
			t.Errorf("%d stream shards: batching window %v, want %v", shards, got, want)
		}
	}
}

// TestTumblingWindows checks the tumbling window: a multiple of the detector's windows, and no shorter than one.
func TestTumblingWindows(t *testing.T) {
	for _, c := range []struct {
		streamShards int
		window, want time.Duration
	}{
		{8, 10 * time.Second, 10 * time.Second}, {9, 10 * time.Second, time.Minute}, {250, 10 * time.Second, time.Minute}, {251, 10 * time.Second, 5 * time.Minute},
		{9, 7 * time.Second, 56 * time.Second}, {251, 7 * time.Second, 294 * time.Second}, {9, 2 * time.Minute, 2 * time.Minute}, {1, 2 * time.Minute, 2 * time.Minute},
	} {
		if got := plan.TumblingWindow(c.streamShards, c.window); got != c.want {
			t.Errorf("%d stream shards, windows of %v: %v, want %v", c.streamShards, c.window, got, c.want)
		}
	}
}
