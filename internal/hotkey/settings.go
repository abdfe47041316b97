package hotkey

import (
	"errors"
	"fmt"
	"time"
)

// Settings are the function's environment variables.
type Settings struct {
	// ItemsTable, RollupsTable and ShardMapTable name the tables. Required. Heat
	// items go to the rollups table. The items table's name is what metrics are
	// filed under when a batch does not name its stream; the shard map's is for
	// the controller of shard counts.
	ItemsTable    string `env:"HOTSHARD_ITEMS_TABLE,notEmpty"`
	RollupsTable  string `env:"HOTSHARD_ROLLUPS_TABLE,notEmpty"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE,notEmpty"`

	// PartitionKey is the items table's partition key; 1 to 255 bytes.
	PartitionKey string `env:"HOTSHARD_PARTITION_KEY" envDefault:"pk"`

	// Window is how long the windows are over which rates are taken, if Lambda
	// delivers without a tumbling window; with one, that one's length counts.
	// Whole seconds, 1s to 15m.
	Window time.Duration `env:"HOTSHARD_WINDOW" envDefault:"10s"`

	// PartitionWCU is how many write units a second a partition takes: AWS's
	// limit, or that of a partition limiter. At least 1.
	PartitionWCU int `env:"HOTSHARD_PARTITION_WCU" envDefault:"1000"`

	// Threshold is the part of PartitionWCU from which on a key is hot; above 0,
	// up to 1.
	Threshold float64 `env:"HOTSHARD_THRESHOLD" envDefault:"0.7"`

	// TopK is how many keys a window counts at a time; 10 to 20,000. The error of
	// a count is at most the window's write units divided by it (by less, if keys
	// are so long that the window's state, 1 MB, has not room for as many).
	TopK int `env:"HOTSHARD_TOP_K" envDefault:"2000"`

	// HeatRetention is how long heat items are kept; 1h to 8760h.
	HeatRetention time.Duration `env:"HOTSHARD_HEAT_RETENTION" envDefault:"168h"`

	// MetricKeys is of how many different hot keys an hour this process sends
	// metrics of their own, which CloudWatch bills by name; 0 to 10,000.
	MetricKeys int `env:"HOTSHARD_METRIC_KEYS" envDefault:"100"`
}

// Validate reports all faults at once.
func (s Settings) Validate() error {
	var faults []error
	check := func(ok bool, name string, value any, want string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s is %v: want %s", name, value, want))
		}
	}
	check(s.ItemsTable != "", "HOTSHARD_ITEMS_TABLE", "empty", "a table's name")
	check(s.RollupsTable != "", "HOTSHARD_ROLLUPS_TABLE", "empty", "a table's name")
	check(s.ShardMapTable != "", "HOTSHARD_SHARD_MAP_TABLE", "empty", "a table's name")
	check(len(s.PartitionKey) >= 1 && len(s.PartitionKey) <= 255, "HOTSHARD_PARTITION_KEY", s.PartitionKey, "1 to 255 bytes")
	check(s.Window >= time.Second && s.Window <= 15*time.Minute && s.Window%time.Second == 0,
		"HOTSHARD_WINDOW", s.Window, "whole seconds, 1s to 15m")
	check(s.PartitionWCU >= 1, "HOTSHARD_PARTITION_WCU", s.PartitionWCU, "at least 1")
	check(s.Threshold > 0 && s.Threshold <= 1, "HOTSHARD_THRESHOLD", s.Threshold, "above 0, up to 1")
	check(s.TopK >= 10 && s.TopK <= 20_000, "HOTSHARD_TOP_K", s.TopK, "10 to 20000")
	check(s.HeatRetention >= time.Hour && s.HeatRetention <= 8760*time.Hour, "HOTSHARD_HEAT_RETENTION", s.HeatRetention, "1h to 8760h")
	check(s.MetricKeys >= 0 && s.MetricKeys <= 10_000, "HOTSHARD_METRIC_KEYS", s.MetricKeys, "0 to 10000")
	return errors.Join(faults...)
}

// hotRate is how many certified write units a second make a key hot.
func (s Settings) hotRate() float64 { return s.Threshold * float64(s.PartitionWCU) }
