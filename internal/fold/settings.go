package fold

import (
	"errors"
	"fmt"
	"time"
)

// Settings are the function's environment variables.
type Settings struct {
	// RollupsTable is the table of the summaries. The other two are for boards; the compaction also reads ItemsTable.
	ItemsTable    string `env:"HOTSHARD_ITEMS_TABLE,notEmpty"`
	RollupsTable  string `env:"HOTSHARD_ROLLUPS_TABLE,notEmpty"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE,notEmpty"`
	// Rollups rolls up events by the hour.
	Rollups bool `env:"HOTSHARD_ROLLUPS" envDefault:"true"`
	// RollupRetention is how long an event rollup is kept after the end of its bucket, or its last fold if that is later:
	// 24h or more, or 0 for ever. The retention of the events themselves does not affect rollups.
	RollupRetention time.Duration `env:"HOTSHARD_ROLLUP_RETENTION" envDefault:"0"`
	// BoardRecheck is the recheck age, which is not in the environment. 0 means the constant BoardRecheck.
	BoardRecheck time.Duration
}

// BoardRecheck is the recheck age: how long after a board's top was built from the index it is rechecked. Two thirds of the
// age must exceed the lag of the index, which is eventually consistent and normally lags less than a second.
const BoardRecheck = 30 * time.Second

// minRetention is how long a stream keeps its records. A rollup that expired sooner could be
// created again by a redelivered record.
const minRetention = 24 * time.Hour

// Validate returns an error that lists what is wrong with RollupsTable and RollupRetention.
func (s Settings) Validate() error {
	var faults []error
	if s.RollupsTable == "" {
		faults = append(faults, errors.New("HOTSHARD_ROLLUPS_TABLE is empty: want a table's name"))
	}
	if s.RollupRetention != 0 && s.RollupRetention < minRetention {
		faults = append(faults, fmt.Errorf("HOTSHARD_ROLLUP_RETENTION is %v: want 0, or %v or more", s.RollupRetention, minRetention))
	}
	return errors.Join(faults...)
}
