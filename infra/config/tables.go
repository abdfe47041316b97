package config

// Units are the read or write units per second of a table or an index. 0 is not set.
type Units struct {
	Min, Seed int // only for provisioned billing: the lowest capacity, and the capacity when billing changes
	Max       int // of auto scaling, or on demand
}

// The capacity of each table and index with a load. Callers may load only one table, so each must take the whole peak.
const (
	maxPerPeak      = 2  // keys are distributed unevenly, and a score writes twice to its index
	minPeakPercent  = 10 // auto scaling takes minutes to add the rest
	utilizedPercent = 70 // share of the seed capacity that the peak uses
)

// Units returns the units of a table, by its name, or zeros for a table that is always on demand without a maximum.
func (c *Config) Units(table string) (reads, writes Units) {
	switch table {
	case c.Names().Items, c.Names().Events, c.Names().Rollups:
		return c.units(c.PeakReads), c.units(c.PeakWrites)
	}
	return reads, writes
}

// IndexUnits returns the units of each index. Provisioned capacity scales down to 1 unit: without boards and sessions
// nothing is written to an index.
func (c *Config) IndexUnits() (reads, writes Units) {
	reads, writes = c.units(c.PeakReads), c.units(c.PeakWrites)
	reads.Min, writes.Min = min(1, reads.Min), min(1, writes.Min)
	return reads, writes
}

// units returns the capacity for a peak load; all zeros for an unknown peak, 0.
func (c *Config) units(peak int) Units {
	u := Units{Max: maxPerPeak * peak}
	if c.Billing == "provisioned" {
		u.Min = (minPeakPercent*peak + 99) / 100
		u.Seed = (100*peak + utilizedPercent - 1) / utilizedPercent
	}
	return u
}

func checkTables(c *Config, f *faults) {
	if c.Billing == "provisioned" {
		f.check(c.PeakReads >= 1, "peakReads", c.PeakReads, "1 or more, as billing is provisioned")
		f.check(c.PeakWrites >= 1, "peakWrites", c.PeakWrites, "1 or more, as billing is provisioned")
	}
}
