package config

import "fmt"

// Units are what a table, and each of its indexes, takes of one kind, reads or writes, a
// second. 0 is not set.
type Units struct {
	Min, Max int // Min with provisioned billing only
	Warm     int // from the first second on
}

// Units returns those of a table, by its name. Tables that have no settings for it have none.
func (c *Config) Units(table string) (reads, writes Units) {
	switch table {
	case c.Names().Items:
		return Units{c.MinReadUnits, c.MaxReadUnits, c.WarmReadUnits}, Units{c.MinWriteUnits, c.MaxWriteUnits, c.WarmWriteUnits}
	case c.Names().Rollups:
		return Units{c.MinRollupsReadUnits, c.MaxRollupsReadUnits, c.WarmRollupsReadUnits}, Units{c.MinRollupsWriteUnits, c.MaxRollupsWriteUnits, c.WarmRollupsWriteUnits}
	}
	return reads, writes
}

// Least warm throughput, which every on-demand table has, from
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
	for of, table := range map[string]string{"": c.Names().Items, "Rollups": c.Names().Rollups} {
		reads, writes := c.Units(table)
		checkUnits(&c.Stack, f, of+"ReadUnits", reads, leastWarmReads)
		checkUnits(&c.Stack, f, of+"WriteUnits", writes, leastWarmWrites)
	}
}

// checkUnits checks the settings min, max and warm of a kind such as RollupsWriteUnits.
func checkUnits(c *Stack, f *faults, kind string, u Units, leastWarm int) {
	f.check(u.Max >= 0, "max"+kind, u.Max, "0 or more")
	f.check(u.Warm == 0 || u.Warm >= leastWarm, "warm"+kind, u.Warm, fmt.Sprintf("0, or at least %d", leastWarm))
	if u.Max > 0 && u.Warm > u.Max {
		f.add("warm%s is %d and max%s %d: they contradict each other", kind, u.Warm, kind, u.Max)
	}
	if c.Billing != "provisioned" {
		f.check(u.Min == 0, "min"+kind, u.Min, "0, as billing is not provisioned")
		return
	}
	f.check(u.Min >= 1, "min"+kind, u.Min, "1 or more, as billing is provisioned: what there is always")
	f.check(u.Max >= max(1, u.Min), "max"+kind, u.Max, "min"+kind+" or more, as billing is provisioned: how far capacity may grow")
}
