package adopt

import "github.com/hotshard/hotshard/pkg/shard/table"

// Sharded returns the table of the report's lines with other shard counts.
func (r *Report) Sharded(db table.Client, counts table.Counts) *table.Table {
	return r.tableOfLines(db, counts)
}
