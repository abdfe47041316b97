package rollup

import (
	"errors"
	"fmt"
	"time"
)

// Settings are the function's environment variables.
type Settings struct {
	// RollupsTable names the table of the summaries. Required.
	RollupsTable string `env:"HOTSHARD_ROLLUPS_TABLE,notEmpty"`
	// ItemsTable names the table of the write shards, whose removal tombstones
	// stand for. Without it tombstones are kept.
	ItemsTable string `env:"HOTSHARD_ITEMS_TABLE"`
	// Rules say which events are rolled up, and how; see ParseRules. "[]" is none.
	Rules Rules `env:"HOTSHARD_ROLLUP_RULES" envDefault:"[{\"every\":\"1h\"}]"`
	// RollupRetention is how long an event rollup is kept after the end of its
	// bucket; 24h or more, 0 keeps it for ever. Its parts stay longer where they
	// were folded into later, for their sequence numbers. Events have a retention
	// of their own, which does not touch rollups.
	RollupRetention time.Duration `env:"HOTSHARD_ROLLUP_RETENTION" envDefault:"0"`
}

// minRetention is how long a stream has its records: a rollup that ended sooner
// could be made again of a record that it had.
const minRetention = 24 * time.Hour

// Validate reports all faults at once.
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
