package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/hotshard/hotshard/internal/bill"
	"github.com/hotshard/hotshard/internal/load"
	"github.com/hotshard/hotshard/internal/terminal"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// PlanCmd is hotshard plan.
type PlanCmd struct {
	PeakWCU    float64 `name:"peak-wcu" placeholder:"N" help:"The hottest key's peak, write units a second."`
	Rate       float64 `placeholder:"N" help:"Instead: items written to it a second; --item-bytes says how large."`
	ItemBytes  int     `default:"1024" help:"An item's size, names and values; up to 409600."`
	Safety     float64 `default:"1.5" help:"How many times the peak there is to be room for; 1 or more."`
	RCU        float64 `name:"rcu" placeholder:"N" help:"The table's peak, read units a second."`
	WCU        float64 `name:"wcu" placeholder:"N" help:"The table's peak, write units a second. Default: the key's."`
	GB         float64 `name:"gb" placeholder:"N" help:"What the table holds."`
	LoadFactor float64 `default:"1" help:"The table's mean load as a part of its peak: on demand pays for the mean, provisioned capacity for the peak."`
	ReadItems  int     `default:"100" help:"Items that a read gathers over all write shards."`
	JSON       bool    `name:"json" help:"Print the plan as JSON."`
	priceFlags

	Writes      *float64 `placeholder:"N" help:"What a deployment costs a day, line by line, that takes N writes a second all day; 0 for an idle one. With or without a key's peak."`
	Batch       int      `default:"25" help:"With --writes: how many come in one call."`
	Provisioned bool     `help:"With --writes: the setting billing=provisioned."`
	Tracing     bool     `help:"With --writes: the setting tracing=true."`
	AccessLog   bool     `default:"true" negatable:"" help:"With --writes: the setting accessLog."`
}

// priceFlags are the prices; what is not given is an assumption.
type priceFlags struct {
	OnDemandWrite    *float64 `placeholder:"USD" help:"Price of a million write request units."`
	OnDemandRead     *float64 `placeholder:"USD" help:"Price of a million read request units."`
	ProvisionedWrite *float64 `placeholder:"USD" help:"Price of a write capacity unit, an hour."`
	ProvisionedRead  *float64 `placeholder:"USD" help:"Price of a read capacity unit, an hour."`
	Storage          *float64 `placeholder:"USD" help:"Price of a GB, a month."`
}

// Validate finds faults of the command line.
func (c *PlanCmd) Validate() error {
	if c.PeakWCU != 0 && c.Rate != 0 || !c.hasKey() && c.Writes == nil {
		return errors.New("want one of --peak-wcu and --rate, more than 0, or --writes")
	}
	if c.Writes != nil && !(*c.Writes >= 0 && *c.Writes <= bill.MaxWrites) {
		return fmt.Errorf("--writes %v: want 0 to %.0f", *c.Writes, bill.MaxWrites)
	}
	if c.Batch < 1 || c.Batch > load.MaxBatch {
		return fmt.Errorf("--batch %d: want 1 to %d", c.Batch, load.MaxBatch)
	}
	// A flag that is 0 would pass for one that is not given.
	if c.ItemBytes == 0 || c.Safety == 0 || c.LoadFactor == 0 || c.ReadItems == 0 {
		return errors.New("--item-bytes, --safety, --load-factor and --read-items must be more than 0")
	}
	if !c.hasKey() {
		return c.checkItemAndPrices()
	}
	_, err := c.plan()
	return err
}

func (c *PlanCmd) hasKey() bool { return c.PeakWCU != 0 || c.Rate != 0 }

// checkItemAndPrices finds faults of what a day's cost is reckoned from, as a plan for some key does.
func (c *PlanCmd) checkItemAndPrices() error {
	some := *c
	some.Rate = 1
	_, err := some.plan()
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

// demandFlags are the flags of fields.
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

// planned is a plan as it is printed.
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

// Run prints the plan, and the day.
func (c *PlanCmd) Run(_ context.Context, std streams) error {
	var shown shownPlan
	if c.hasKey() {
		p, err := c.plan()
		if err != nil {
			return err
		}
		shown.planned = c.planned(p)
	}
	if c.Writes != nil {
		shown.Day = c.day()
	}
	if c.JSON {
		return printJSON(std.out, shown)
	}
	return shown.print(std.out)
}

// shownPlan is what is printed: a key's plan, a deployment's day, or both.
type shownPlan struct {
	*planned
	Day *day `json:"daily_cost,omitempty"`
}

// day is what a deployment costs in one.
type day struct {
	Writes float64     `json:"writes_per_second"`
	Lines  []bill.Line `json:"lines"`
	Total  float64     `json:"total"`
}

func (c *PlanCmd) day() *day {
	p := bill.Default()
	p.Tables = c.prices()
	lines := bill.Day(bill.Load{
		Writes: *c.Writes, ItemBytes: c.ItemBytes, Batch: c.Batch,
		Provisioned: c.Provisioned, Traced: c.Tracing, AccessLogOff: !c.AccessLog,
	}, p)
	d := &day{Writes: *c.Writes, Total: round(bill.Sum(lines), 100)}
	for _, l := range lines {
		l.Day = round(l.Day, 1000)
		d.Lines = append(d.Lines, l)
	}
	return d
}

func (s shownPlan) print(out io.Writer) error {
	if s.planned != nil {
		if err := s.planned.print(out); err != nil {
			return err
		}
	}
	if s.Day == nil {
		return nil
	}
	t := terminal.NewTable("a day's", "reckoned", "USD")
	for _, l := range s.Day.Lines {
		t.Row(l.Item, l.Reckoned, fmt.Sprintf("%.2f", l.Day))
	}
	t.Row("sum", fmt.Sprintf("%v writes a second; reads of callers not counted", s.Day.Writes), fmt.Sprintf("%.2f", s.Day.Total))
	_, err := fmt.Fprintln(out, t.Render())
	return err
}

func (c *PlanCmd) planned(p plan.Plan) *planned {
	return &planned{
		PeakWriteUnits: p.WriteUnits, Safety: c.Safety,
		Shards: p.Shards, RandomShards: p.RandomShards, CalculatedShards: p.CalculatedShards, Capped: p.Capped,
		Partitions: p.Partitions, Read: fanOut{c.ReadItems, p.Read},
		MonthlyCost: monthlyCost{OnDemand: cents(p.OnDemand), Provisioned: cents(p.Provisioned), Prices: c.prices()},
	}
}

// round rounds to the part of a dollar that is wanted: 100 for cents.
func round(usd, part float64) float64 { return math.Round(usd*part) / part }

// cents rounds amounts to what can be paid.
func cents(c plan.Cost) plan.Cost {
	return plan.Cost{Write: round(c.Write, 100), Read: round(c.Read, 100), Storage: round(c.Storage, 100), Total: round(c.Total, 100)}
}

func (p planned) print(out io.Writer) error {
	t := terminal.NewTable()
	capped := ""
	if p.Capped {
		capped = fmt.Sprintf("; a count was cut off at %d", shard.MaxShards)
	}
	for _, row := range [][]any{
		{"peak of the key", fmt.Sprintf("%v write units a second", p.PeakWriteUnits)},
		{"write shards", fmt.Sprintf("%d: a partition each has room for %v times the peak%s", p.Shards, p.Safety, capped)},
		{"with room to meet", fmt.Sprintf("%d for counters, %d for events: write shards share partitions by chance", p.RandomShards, p.CalculatedShards)},
		{"a read of it", fmt.Sprintf("%d queries, %v read units for %d items (%v strongly consistent)", p.Read.Queries, p.Read.ReadUnits, p.Read.Items, p.Read.StrongReadUnits)},
		{"partitions of the table", fmt.Sprintf("%d: %d for throughput, %d for size", p.Partitions.Expected, p.Partitions.Throughput, p.Partitions.Size)},
		{"a month on demand", costText(p.MonthlyCost.OnDemand)},
		{"a month provisioned", costText(p.MonthlyCost.Provisioned)},
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
