package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// PlanCmd is hotshard plan.
type PlanCmd struct {
	PeakWCU    float64 `name:"peak-wcu" placeholder:"N" help:"Peak write rate of the hottest key, in WCU/s."`
	Rate       float64 `placeholder:"N" help:"Instead of --peak-wcu: peak items a second; --item-bytes gives their size."`
	ItemBytes  int     `default:"1024" help:"Item size in bytes, attribute names and values; up to 409600."`
	Safety     float64 `default:"1.5" help:"Headroom: capacity as a multiple of the peak; 1 or more."`
	RCU        float64 `name:"rcu" placeholder:"N" help:"Peak read rate of the table, in RCU/s."`
	WCU        float64 `name:"wcu" placeholder:"N" help:"Peak write rate of the table, in WCU/s. Default: the hottest key's."`
	GB         float64 `name:"gb" placeholder:"N" help:"Size of the table in GB."`
	LoadFactor float64 `default:"1" help:"Mean load as a fraction of the peak: on-demand pays for the mean, provisioned capacity for the peak."`
	ReadItems  int     `default:"100" help:"Items that one read gathers from all write shards."`
	JSON       bool    `name:"json" help:"Print the plan as JSON."`
	priceFlags
}

// priceFlags are flags for prices. Prices without a flag are assumptions.
type priceFlags struct {
	OnDemandWrite    *float64 `placeholder:"USD" help:"Price of a million write request units."`
	OnDemandRead     *float64 `placeholder:"USD" help:"Price of a million read request units."`
	ProvisionedWrite *float64 `placeholder:"USD" help:"Price of a write capacity unit for an hour."`
	ProvisionedRead  *float64 `placeholder:"USD" help:"Price of a read capacity unit for an hour."`
	Storage          *float64 `placeholder:"USD" help:"Price of a GB for a month."`
}

// Validate returns an error if the flags are invalid.
func (c *PlanCmd) Validate() error {
	if (c.PeakWCU != 0) == (c.Rate != 0) {
		return errors.New("want one of --peak-wcu and --rate, more than 0")
	}
	// plan.New replaces 0 with the default.
	if c.ItemBytes == 0 || c.Safety == 0 || c.LoadFactor == 0 || c.ReadItems == 0 {
		return errors.New("--item-bytes, --safety, --load-factor and --read-items must be more than 0")
	}
	_, err := c.plan()
	return err
}

func (c *PlanCmd) plan() (plan.Plan, error) {
	p, err := plan.New(plan.Demand{
		WriteUnits: c.PeakWCU, Rate: c.Rate, ItemBytes: c.ItemBytes, Safety: c.Safety,
		TableWriteUnits: c.WCU, TableReadUnits: c.RCU, TableGB: c.GB, LoadFactor: c.LoadFactor, ReadItems: c.ReadItems,
	}, c.prices())
	if fault, ok := errors.AsType[*plan.DemandError](err); ok {
		return p, fmt.Errorf("%s %v: %s", demandFlags[fault.Field], fault.Value, fault.Reason)
	}
	return p, err
}

// demandFlags maps fields of plan.Demand and plan.Prices to flags.
var demandFlags = map[string]string{
	"WriteUnits": "--peak-wcu", "Rate": "--rate", "ItemBytes": "--item-bytes", "Safety": "--safety",
	"TableWriteUnits": "--wcu", "TableReadUnits": "--rcu", "TableGB": "--gb", "LoadFactor": "--load-factor", "ReadItems": "--read-items",
	"OnDemandWrite": "--on-demand-write", "OnDemandRead": "--on-demand-read",
	"ProvisionedWrite": "--provisioned-write", "ProvisionedRead": "--provisioned-read", "Storage": "--storage",
}

func (f *priceFlags) prices() plan.Prices {
	p := plan.DefaultPrices()
	given := 0
	for _, price := range []struct {
		flag *float64
		into *float64
	}{
		{f.OnDemandWrite, &p.OnDemandWrite}, {f.OnDemandRead, &p.OnDemandRead},
		{f.ProvisionedWrite, &p.ProvisionedWrite}, {f.ProvisionedRead, &p.ProvisionedRead}, {f.Storage, &p.Storage},
	} {
		if price.flag != nil {
			*price.into = *price.flag
			given++
		}
	}
	switch given {
	case 0:
	case 5:
		p.Region, p.AsOf = "as given", ""
	default:
		p.Region += ", partly as given"
	}
	return p
}

// planned is a plan as printed in JSON.
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
	OnDemand    plan.Cost   `json:"on_demand"`
	Provisioned plan.Cost   `json:"provisioned"`
	Prices      plan.Prices `json:"prices"`
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
		PeakWriteUnits: p.WriteUnits, Safety: c.Safety,
		Shards: p.Shards, RandomShards: p.RandomShards, CalculatedShards: p.CalculatedShards, Capped: p.Capped,
		Partitions: p.Partitions, Read: fanOut{c.ReadItems, p.Read},
		MonthlyCost: monthlyCost{OnDemand: cents(p.OnDemand), Provisioned: cents(p.Provisioned), Prices: c.prices()},
	}
}

// round rounds to 1/parts of a dollar.
func round(usd, parts float64) float64 { return math.Round(usd*parts) / parts }

// cents rounds amounts to cents.
func cents(c plan.Cost) plan.Cost {
	return plan.Cost{Write: round(c.Write, 100), Read: round(c.Read, 100), Storage: round(c.Storage, 100), Total: round(c.Total, 100)}
}

func (p planned) print(out io.Writer) error {
	t := newTable()
	capped := ""
	if p.Capped {
		capped = fmt.Sprintf("; limited to %d", shard.MaxShards)
	}
	for _, row := range [][]any{
		{"peak of the key", fmt.Sprintf("%v WCU/s", p.PeakWriteUnits)},
		{"write shards", fmt.Sprintf("%d, if each has its own partition: %v times the peak%s", p.Shards, p.Safety, capped)},
		{"with shared partitions", fmt.Sprintf("%d for counters, %d for events: write shards fall on partitions by chance", p.RandomShards, p.CalculatedShards)},
		{"one read", fmt.Sprintf("%s, %v RCU for %s (%v RCU strongly consistent)", display.Several(p.Read.Queries, "query"), p.Read.ReadUnits, display.Several(p.Read.Items, "item"), p.Read.StrongReadUnits)},
		{"partitions of the table", fmt.Sprintf("%d: %d for throughput, %d for size", p.Partitions.Expected, p.Partitions.Throughput, p.Partitions.Size)},
		{"monthly cost, on-demand", costText(p.MonthlyCost.OnDemand)},
		{"monthly cost, provisioned", costText(p.MonthlyCost.Provisioned)},
		{"prices", pricesText(p.MonthlyCost.Prices)},
	} {
		t.Row(row...)
	}
	_, err := fmt.Fprintln(out, t.Render())
	return err
}

func costText(c plan.Cost) string {
	return fmt.Sprintf("$%.2f: writes %.2f, reads %.2f, storage %.2f", c.Total, c.Write, c.Read, c.Storage)
}

func pricesText(p plan.Prices) string {
	if p.AsOf == "" {
		return p.Region
	}
	return fmt.Sprintf("assumed: %s, as of %s; flags set others", p.Region, p.AsOf)
}
