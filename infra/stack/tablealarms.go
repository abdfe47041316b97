package stack

import (
	"github.com/hotshard/hotshard/internal/schema"
)

// watched is a table or an index whose throttles are watched.
type watched struct{ name, table, index string }

func (d *deployment) watched() (list []watched) {
	if d.config.Attached() {
		list = append(list, watched{"source", d.config.SourceTable, ""})
	}
	for _, t := range schema.Tables(d.config.Names()) {
		name := t.Name[len(d.config.Prefix):]
		if d.config.Attached() && t.Name != d.config.Names().Rollups {
			continue
		}
		list = append(list, watched{name, t.Name, ""})
		for _, i := range t.Indexes {
			list = append(list, watched{name + "-by-rank", t.Name, i.Name})
		}
	}
	return list
}

// tableAlarms tell the two kinds of throttles apart: a hot partition, which more
// write shards relieve, and a limit of the table's or the account's, which they don't.
func (d *deployment) tableAlarms() (list []alarm) {
	for _, w := range d.watched() {
		of := "the table " + w.table
		if w.index != "" {
			of = "the index " + w.index + " of " + w.table
		}
		list = append(list, alarm{
			w.name + "-hot-partition", "hot-partition", total("throttled by key range",
				ofTable(w.table, w.index, "WriteKeyRangeThroughputThrottleEvents"), ofTable(w.table, w.index, "ReadKeyRangeThroughputThrottleEvents")), 1, 5, 3,
			"A partition of " + of + " is over its limit, for three of five minutes. A key that is written too often has more write shards by now; see the dashboard.",
		}, alarm{
			w.name + "-limit", "table-limit", total("throttled by a limit",
				ofTable(w.table, w.index, "WriteMaxOnDemandThroughputThrottleEvents"), ofTable(w.table, w.index, "ReadMaxOnDemandThroughputThrottleEvents"),
				ofTable(w.table, w.index, "WriteAccountLimitThrottleEvents"), ofTable(w.table, w.index, "ReadAccountLimitThrottleEvents"),
				ofTable(w.table, w.index, "WriteProvisionedThroughputThrottleEvents"), ofTable(w.table, w.index, "ReadProvisionedThroughputThrottleEvents")), 1, 5, 3,
			"A limit of " + of + " or of the account is reached, for three of five minutes. More write shards don't help: raise maxWriteUnits, maxReadUnits or the account's quota.",
		})
	}
	return list
}
