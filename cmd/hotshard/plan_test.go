package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

func TestPlanPrintsTable(t *testing.T) {
	code, out, err := hotshard(t, "plan", "--peak-wcu", "10000", "--rcu", "9500", "--wcu", "12000", "--gb", "120")
	if code != exitOK || err != "" {
		t.Errorf("exit %d with %q", code, err)
	}
	wantText(t, out,
		"10000 WCU/s", "15, if each has its own partition: 1.5 times", "40 for counters, 80 for events",
		"15 queries, 15 RCU for 100 items (30 RCU strongly consistent)", "16: 16 for throughput, 12 for size",
		"$22860.75: writes 19710.00, reads 3120.75, storage 30.00", "$6625.55: writes 5694.00, reads 901.55, storage 30.00",
		"always at the peak; prices of us-east-1, November 2024",
	)
	_, out, _ = hotshard(t, "plan", "--peak-wcu", "1500000")
	wantText(t, out, "1500000 WCU/s")
}

func TestPlanAsJSON(t *testing.T) {
	code, out, err := hotshard(t, strings.Fields("plan --peak-wcu 4000 --item-bytes 1500 --safety 2 --json")...)
	if code != exitOK || err != "" {
		t.Fatalf("exit %d with %q", code, err)
	}
	var got planned
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	want := planned{
		PeakWriteUnits: 4000, Safety: 2, Shards: 8, RandomShards: 16, CalculatedShards: 32,
		Partitions: plan.Partitions{Throughput: 4, Expected: 4},
		// 4 write shards have 13 items, and 4 have 12, of 1,500 bytes: 5 units each.
		Read: fanOut{Items: 100, FanOut: plan.FanOut{Queries: 8, ReadUnits: 20, StrongReadUnits: 40}},
		MonthlyCost: monthlyCost{
			OnDemand: plan.Cost{Write: 6570, Total: 6570}, Provisioned: plan.Cost{Write: 1898, Total: 1898},
			Prices: "us-east-1, November 2024",
		},
	}
	if got != want {
		t.Errorf("plan %+v\nwant %+v", got, want)
	}
}

func TestPlansWrongUsageIsOneLine(t *testing.T) {
	checkOneLine(t, exitUsage, "", map[string]string{
		"plan":                                  "--peak-wcu",
		"plan --peak-wcu=-5":                    "--peak-wcu -5: want more than 0",
		"plan --peak-wcu 1e13":                  "--peak-wcu 1e+13: want more than 0, up to 1e12",
		"plan --peak-wcu 5 --item-bytes 500000": "--item-bytes 500000: want 1 to 409600",
		"plan --peak-wcu 5 --item-bytes 0":      "must be more than 0",
		"plan --peak-wcu 5 --safety 0.5":        "--safety 0.5: want 1 to 1000",
		"plan --peak-wcu 5 --safety NaN":        "--safety NaN: want 1 to 1000",
		"plan --peak-wcu 5 --rcu=-1":            "--rcu -1: want 0 to 1e12",
		"plan --peak-wcu 5 --wcu 4":             "--wcu 4: want the key's own peak, 5, or more",
		"plan --peak-wcu 5 --gb=-1":             "--gb -1: want 0 to 1e12",
		"plan --peak-wcu many":                  "--peak-wcu",
	})
}
