package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// PlanCmd is hotshard plan, which estimates write shards, partitions and costs for a peak.
type PlanCmd struct {
	PeakWCU   float64 `name:"peak-wcu" required:"" placeholder:"N" help:"Peak write rate of the hottest key, in WCU/s."`
	ItemBytes int     `default:"1024" help:"Item size in bytes, attribute names and values; up to 409600."`
	Safety    float64 `default:"1.5" help:"Headroom: capacity as a multiple of the peak; 1 or more."`
	RCU       float64 `name:"rcu" placeholder:"N" help:"Peak read rate of the table, in RCU/s."`
	WCU       float64 `name:"wcu" placeholder:"N" help:"Peak write rate of the table, in WCU/s. Default: the hottest key's."`
	GB        float64 `name:"gb" placeholder:"N" help:"Size of the table in GB."`
	JSON      bool    `name:"json" help:"Print the plan as JSON."`
}

// Validate returns an error if the flags are invalid.
func (c *PlanCmd) Validate() error {
	if c.ItemBytes == 0 || c.Safety == 0 { // plan.New replaces 0 with the default
		return errors.New("--item-bytes and --safety must be more than 0")
	}
	_, err := c.plan()
	return err
}

func (c *PlanCmd) plan() (plan.Plan, error) {
	p, err := plan.New(plan.Demand{
		WriteUnits: c.PeakWCU, ItemBytes: c.ItemBytes, Safety: c.Safety,
		TableWriteUnits: c.WCU, TableReadUnits: c.RCU, TableGB: c.GB,
	})
	if fault, ok := errors.AsType[*plan.DemandError](err); ok {
		return p, fmt.Errorf("%s %v: %s", demandFlags[fault.Field], fault.Value, fault.Reason)
	}
	return p, err
}

// demandFlags maps fields of plan.Demand to flags.
var demandFlags = map[string]string{
	"WriteUnits": "--peak-wcu", "ItemBytes": "--item-bytes", "Safety": "--safety",
	"TableWriteUnits": "--wcu", "TableReadUnits": "--rcu", "TableGB": "--gb",
}

// planned is a plan as printed in JSON. Costs are USD, rounded to cents.
type planned struct {
	PeakWriteUnits   float64         `json:"peak_write_units"`
	Safety           float64         `json:"safety"`
	Shards           int             `json:"shards"`
	RandomShards     int             `json:"shards_random"`
	CalculatedShards int             `json:"shards_calculated"`
	Capped           bool            `json:"capped"`
	Partitions       plan.Partitions `json:"partitions"`
	Read             fanOut          `json:"read"`
	MonthlyCost      monthlyCost     `json:"monthly_cost"`
}

type fanOut struct {
	Items int `json:"items"`
	plan.FanOut
}

type monthlyCost struct {
	OnDemand    plan.Cost `json:"on_demand"`
	Provisioned plan.Cost `json:"provisioned"`
	Prices      string    `json:"prices"` // their Region and date
}

// Run prints the plan.
func (c *PlanCmd) Run(_ context.Context, std streams) error {
	p, err := c.plan()
	if err != nil {
		return err
	}
	shown := c.planned(p)
	if c.JSON {
		return printJSON(std.out, shown)
	}
	return shown.print(std.out)
}

func (c *PlanCmd) planned(p plan.Plan) *planned {
	return &planned{
		PeakWriteUnits: c.PeakWCU, Safety: c.Safety,
		Shards: p.Shards, RandomShards: p.RandomShards, CalculatedShards: p.CalculatedShards, Capped: p.Capped,
		Partitions: p.Partitions, Read: fanOut{plan.ReadItems, p.Read},
		MonthlyCost: monthlyCost{OnDemand: roundCosts(p.OnDemand), Provisioned: roundCosts(p.Provisioned), Prices: plan.Prices},
	}
}

func roundCosts(c plan.Cost) plan.Cost {
	cents := func(usd float64) float64 { return math.Round(100*usd) / 100 }
	return plan.Cost{Write: cents(c.Write), Read: cents(c.Read), Storage: cents(c.Storage), Total: cents(c.Total)}
}

func (p planned) print(out io.Writer) error {
	t := newTable()
	capped := ""
	if p.Capped {
		capped = fmt.Sprintf("; limited to %d", shard.MaxShards)
	}
	for _, row := range [][]any{
		{"peak of the key", strconv.FormatFloat(p.PeakWriteUnits, 'f', -1, 64) + " WCU/s"},
		{"write shards", fmt.Sprintf("%d, if each has its own partition: %v times the peak%s", p.Shards, p.Safety, capped)},
		{"with shared partitions", fmt.Sprintf("%d for counters, %d for events: write shards fall on partitions by chance", p.RandomShards, p.CalculatedShards)},
		{"one read", fmt.Sprintf("%s, %v RCU for %s (%v RCU strongly consistent)", display.Several(p.Read.Queries, "query"), p.Read.ReadUnits, display.Several(p.Read.Items, "item"), p.Read.StrongReadUnits)},
		{"partitions of the table", fmt.Sprintf("%d: %d for throughput, %d for size", p.Partitions.Expected, p.Partitions.Throughput, p.Partitions.Size)},
		{"monthly cost, on-demand", costText(p.MonthlyCost.OnDemand)},
		{"monthly cost, provisioned", costText(p.MonthlyCost.Provisioned)},
		{"assumed", "always at the peak; prices of " + p.MonthlyCost.Prices},
	} {
		t.Row(row...)
	}
	_, err := fmt.Fprintln(out, t.Render())
	return err
}

func costText(c plan.Cost) string {
	return fmt.Sprintf("$%.2f: writes %.2f, reads %.2f, storage %.2f", c.Total, c.Write, c.Read, c.Storage)
}
