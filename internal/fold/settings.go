package fold

import (
	"errors"
	"fmt"
	"time"
)

// Settings are the function's environment variables.
type Settings struct {
	// RollupsTable names the table of the summaries. Boards are read from the other two.
	ItemsTable    string `env:"HOTSHARD_ITEMS_TABLE,notEmpty"`
	RollupsTable  string `env:"HOTSHARD_ROLLUPS_TABLE,notEmpty"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE,notEmpty"`
	// Rules define which events are rolled up, and how; see ParseRules. "[]" rolls up none.
	Rules Rules `env:"HOTSHARD_ROLLUP_RULES" envDefault:"[{\"every\":\"1h\"}]"`
	// RollupRetention is how long an event rollup is kept after the end of its bucket: 24h or more,
	// or 0 for ever. Fragments that were folded into later stay longer, for their sequence numbers.
	// Events have a retention of their own, which does not affect rollups.
	RollupRetention time.Duration `env:"HOTSHARD_ROLLUP_RETENTION" envDefault:"0"`
	// BoardRecheck is not in the environment. 0 means the constant of this name.
	BoardRecheck time.Duration
}

// BoardRecheck is the time after which a board's top that was built from the index is rechecked.
// The index is eventually consistent: two thirds of it must exceed its lag, which is normally below
// a second.
const BoardRecheck = 30 * time.Second

// minRetention is how long a stream keeps its records. A rollup that expired sooner could be
// created again by a redelivered record.
const minRetention = 24 * time.Hour

// Validate returns an error that lists all invalid settings.
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
