package rollup

import (
	"errors"
	"fmt"
	"time"
)

// Settings are the function's environment variables.
type Settings struct {
	// RollupsTable names the table of the summaries; ItemsTable and ShardMapTable
	// those from which entries of boards are read, without which there are none.
	// Required in the environment.
	ItemsTable    string `env:"HOTSHARD_ITEMS_TABLE,notEmpty"`
	RollupsTable  string `env:"HOTSHARD_ROLLUPS_TABLE,notEmpty"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE,notEmpty"`
	// Rules say which events are rolled up, and how; see ParseRules. "[]" is none.
	Rules Rules `env:"HOTSHARD_ROLLUP_RULES" envDefault:"[{\"every\":\"1h\"}]"`
	// RollupRetention is how long an event rollup is kept after the end of its
	// bucket; 24h or more, 0 keeps it for ever. Its parts stay longer where they
	// were folded into later, for their sequence numbers. Events have a retention
	// of their own, which does not touch rollups.
	RollupRetention time.Duration `env:"HOTSHARD_ROLLUP_RETENTION" envDefault:"0"`
	// BoardRecheck is how long after a board's top was made from the index, which is
	// eventually consistent, it is looked at again: more than the index ever lags.
	// 1s to 1h; 0 is the default, 30s.
	BoardRecheck time.Duration `env:"HOTSHARD_BOARD_RECHECK" envDefault:"30s"`
}

const defaultRecheck = 30 * time.Second

// minRetention is how long a stream has its records: a rollup that ended sooner
// could be made again of a record that it had.
const minRetention = 24 * time.Hour

// Validate reports all faults at once.
func (s Settings) Validate() error {
	var faults []error
	if s.RollupsTable == "" {
		faults = append(faults, errors.New("HOTSHARD_ROLLUPS_TABLE is empty: want a table's name"))
	}
	if s.BoardRecheck != 0 && (s.BoardRecheck < time.Second || s.BoardRecheck > time.Hour) {
		faults = append(faults, fmt.Errorf("HOTSHARD_BOARD_RECHECK is %v: want 1s to 1h", s.BoardRecheck))
	}
	if s.RollupRetention != 0 && s.RollupRetention < minRetention {
		faults = append(faults, fmt.Errorf("HOTSHARD_ROLLUP_RETENTION is %v: want 0, or %v or more", s.RollupRetention, minRetention))
	}
	return errors.Join(faults...)
}
