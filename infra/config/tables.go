package config

import (
	"fmt"
	"strings"
)

// Units are the read or write units per second of a table or an index. 0 is not set.
type Units struct {
	Min  int // only for provisioned billing
	Max  int
	Warm int // warm throughput
}

// Units returns the units of a table, by its name, or zeros for a table without settings.
func (c *Config) Units(table string) (reads, writes Units) {
	switch table {
	case c.Names().Items:
		return Units{c.MinReadUnits, c.MaxReadUnits, c.WarmReadUnits}, Units{c.MinWriteUnits, c.MaxWriteUnits, c.WarmWriteUnits}
	case c.Names().Events:
		return Units{c.MinEventsReadUnits, c.MaxEventsReadUnits, c.WarmEventsReadUnits}, Units{c.MinEventsWriteUnits, c.MaxEventsWriteUnits, c.WarmEventsWriteUnits}
	case c.Names().Rollups:
		return Units{c.MinRollupsReadUnits, c.MaxRollupsReadUnits, c.WarmRollupsReadUnits}, Units{c.MinRollupsWriteUnits, c.MaxRollupsWriteUnits, c.WarmRollupsWriteUnits}
	}
	return reads, writes
}

// IndexUnits returns the units of each index of the items table, which share the table's bounds.
func (c *Config) IndexUnits() (reads, writes Units) {
	reads = Units{c.MinIndexReadUnits, c.MaxReadUnits, c.WarmIndexReadUnits}
	writes = Units{c.MinIndexWriteUnits, c.MaxWriteUnits, c.WarmIndexWriteUnits}
	if c.Billing != "provisioned" {
		reads.Min, writes.Min = 0, 0 // the defaults are for provisioned billing
	}
	return reads, writes
}

// The minimum of warm throughput, which every on-demand table has, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
const (
	leastWarmReads  = 12_000
	leastWarmWrites = 4_000
)

func checkTables(c *Config, f *faults) {
	if c.Removal == "destroy" && c.DeletionProtection {
		f.add("removal=destroy and deletionProtection=true contradict each other: set deletionProtection=false, too")
	}
	if _, given := c.given["pitrDays"]; given && !c.PITR {
		f.add("pitrDays is set and pitr is false: they contradict each other")
	}
	check := func(of string, reads, writes Units) {
		checkUnits(&c.Stack, f, of+"ReadUnits", reads, leastWarmReads)
		checkUnits(&c.Stack, f, of+"WriteUnits", writes, leastWarmWrites)
	}
	for of, table := range map[string]string{"": c.Names().Items, "Events": c.Names().Events, "Rollups": c.Names().Rollups} {
		reads, writes := c.Units(table)
		check(of, reads, writes)
	}
	reads, writes := c.IndexUnits()
	check("Index", reads, writes)
	for _, key := range []string{"minIndexReadUnits", "minIndexWriteUnits"} {
		if value, given := c.given[key]; given && c.Billing != "provisioned" {
			f.add("%s is %s: remove it, as billing is not provisioned", key, value)
		}
	}
}

// checkUnits checks the settings min, max and warm of a kind such as RollupsWriteUnits.
func checkUnits(c *Stack, f *faults, kind string, u Units, leastWarm int) {
	bound := "max" + strings.TrimPrefix(kind, "Index") // indexes have their table's
	f.check(u.Max >= 0, bound, u.Max, "0 or more")
	f.check(u.Warm == 0 || u.Warm >= leastWarm, "warm"+kind, u.Warm, fmt.Sprintf("0, or at least %d", leastWarm))
	if u.Max > 0 && u.Warm > u.Max {
		f.add("warm%s is %d and %s %d: they contradict each other", kind, u.Warm, bound, u.Max)
	}
	if c.Billing != "provisioned" {
		f.check(u.Min == 0, "min"+kind, u.Min, "0, as billing is not provisioned")
		return
	}
	f.check(u.Min >= 1, "min"+kind, u.Min, "1 or more, as billing is provisioned")
	f.check(u.Max >= max(1, u.Min), bound, u.Max, "min"+kind+" or more, as billing is provisioned")
}
