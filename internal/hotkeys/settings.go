package hotkeys

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Settings holds the function's environment variables.
type Settings struct {
	// SourceTable is an existing table with a stream, which is counted instead of hotshard's ItemsTable and EventsTable.
	// It is never changed, and gets only advice. Its write units are lower bounds unless the stream view type is
	// NEW_AND_OLD_IMAGES.
	SourceTable string `env:"HOTSHARD_SOURCE_TABLE"`

	// The detector stores its counts in HeatTable, which is required. ItemsTable, EventsTable (the TableName of its
	// metrics) and ShardMapTable are required without a SourceTable.
	ItemsTable    string `env:"HOTSHARD_ITEMS_TABLE"`
	EventsTable   string `env:"HOTSHARD_EVENTS_TABLE"`
	HeatTable     string `env:"HOTSHARD_HEAT_TABLE"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE"`

	// EventAhead is how far in the future the times of events may lie, up to 8s. An increase of an entity's shard
	// count takes effect after this time and 2.25s more. All functions must have the same value.
	EventAhead time.Duration `env:"HOTSHARD_EVENT_AHEAD" envDefault:"2s"`

	// Window is the length of the windows over which rates are averaged; whole seconds, 1s to 15m. A tumbling window
	// other than Hold replaces it.
	Window time.Duration `env:"HOTSHARD_WINDOW" envDefault:"10s"`

	// Hold is the length of Lambda's tumbling window: a multiple of Window, up to 5m. Quiet windows are stored together
	// when it ends. With 0 each window is stored when it ends. In a deployment 0 chooses Hold by streamShards.
	Hold time.Duration `env:"HOTSHARD_HOLD" envDefault:"0s"`

	// PartitionWCU is a partition's limit in WCU/s, of AWS or of a partition limiter; at least 1.
	PartitionWCU int `env:"HOTSHARD_PARTITION_WCU" envDefault:"1000"`

	// Threshold is the share of PartitionWCU from which a key is hot; above 0, up to 1.
	Threshold float64 `env:"HOTSHARD_THRESHOLD" envDefault:"0.7"`

	// TopK is the number of the table's keys that a window counts at a time, and of its indexes' keys; 10 to 20,000.
	// The error of a count is at most the window's write units divided by TopK. It is more if the keys don't fit in the
	// window's state of 1 MB.
	TopK int `env:"HOTSHARD_TOP_K" envDefault:"2000"`

	// MetricNames is how metrics and log lines name a hot key: plain, hashed (see [display.Pseudonym]; GET /v1/hot-keys
	// shows both), or off. With off there are no metrics of single keys. Errors of AWS calls always name keys.
	MetricNames display.Style `env:"HOTSHARD_METRIC_NAMES" envDefault:"plain"`

	// Control is what decisions on shard counts do: act makes the changes, observe only logs and counts them, and off
	// makes no decisions.
	Control growth.Control `env:"HOTSHARD_CONTROL" envDefault:"act"`

	// EventRetention is how long events are kept, and so how long changes stay in a key's history; 1h or more, or 0 for
	// ever. It must equal ingest's.
	EventRetention time.Duration `env:"HOTSHARD_EVENT_RETENTION" envDefault:"720h"`

	// The fields below are no variables; 0 is the default. The shrink task must run every [Settings.TaskInterval].
	HeatRetention time.Duration // how long heat items are kept; at least 28h, since decisions to shrink need a day of them
	Quiet         time.Duration // how long the load of a counter or a limit must be low before it shrinks; 1m to 24h. Other keys need a day
}

// Defaults. A week shows what the last weekday's peak was like. A load that is low for an hour has passed its peak.
const (
	heatRetention = 7 * 24 * time.Hour
	quietTime     = time.Hour
)

// withDefaults returns the settings with defaults for fields that are 0.
func (s Settings) withDefaults() Settings {
	s.HeatRetention, s.Quiet = cmp.Or(s.HeatRetention, heatRetention), cmp.Or(s.Quiet, quietTime)
	return s
}

// maxWindow is the greatest length of a window.
const maxWindow = 15 * time.Minute

// RecordAge is the greatest age of a record that this function receives, because the event source mapping discards
// older records. So the counts of older windows no longer change.
const RecordAge = time.Hour

// TaskInterval returns the time between two runs of the shrink task: a twelfth of the quiet period, from 5 s to 5 min.
// Above a minute it is in whole minutes, which schedules require.
func (s Settings) TaskInterval() time.Duration {
	every := min(max(s.withDefaults().Quiet/12, 5*time.Second), 5*time.Minute)
	if every > time.Minute {
		every = (every + time.Minute - 1).Truncate(time.Minute)
	}
	return every
}

// Validate returns an error that names all wrong settings.
func (s Settings) Validate() error {
	var faults []error
	check := func(ok bool, name string, value any, want string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s is %v: want %s", name, value, want))
		}
	}
	hasSource := s.SourceTable != ""
	check(hasSource || s.ItemsTable != "", "HOTSHARD_ITEMS_TABLE", "empty", "a table's name")
	check(hasSource || s.EventsTable != "", "HOTSHARD_EVENTS_TABLE", "empty", "a table's name")
	check(s.HeatTable != "", "HOTSHARD_HEAT_TABLE", "empty", "a table's name")
	check(hasSource || s.ShardMapTable != "", "HOTSHARD_SHARD_MAP_TABLE", "empty", "a table's name")
	for _, t := range [][2]string{{"SOURCE", s.SourceTable}, {"ITEMS", s.ItemsTable}, {"EVENTS", s.EventsTable}, {"HEAT", s.HeatTable}, {"SHARD_MAP", s.ShardMapTable}} {
		if _, _, _, err := dynamo.TableName(t[1]); err != nil {
			faults = append(faults, fmt.Errorf("HOTSHARD_%s_TABLE: %w", t[0], err))
		}
	}
	check(s.Window >= time.Second && s.Window <= maxWindow && s.Window%time.Second == 0,
		"HOTSHARD_WINDOW", s.Window, "whole seconds, 1s to 15m")
	check(s.Hold == 0 || s.Hold == s.Window || s.Window > 0 && s.Hold > s.Window && s.Hold%s.Window == 0 && s.Hold <= heat.MaxHold,
		"HOTSHARD_HOLD", s.Hold, "0s, or a multiple of HOTSHARD_WINDOW up to "+heat.MaxHold.String())
	check(s.PartitionWCU >= 1, "HOTSHARD_PARTITION_WCU", s.PartitionWCU, "at least 1")
	check(s.Threshold > 0 && s.Threshold <= 1, "HOTSHARD_THRESHOLD", s.Threshold, "above 0, up to 1")
	check(s.TopK >= 10 && s.TopK <= 20_000, "HOTSHARD_TOP_K", s.TopK, "10 to 20000")
	check(s.MetricNames.Valid(), "HOTSHARD_METRIC_NAMES", s.MetricNames, "plain, hashed or off")
	check(s.Control.Valid(), "HOTSHARD_CONTROL", s.Control, "act, observe or off")
	check(s.EventAhead > 0 && s.EventAhead <= shardmap.MaxEventAhead, "HOTSHARD_EVENT_AHEAD", s.EventAhead, "above 0, up to "+shardmap.MaxEventAhead.String())
	check(s.EventRetention == 0 || s.EventRetention >= time.Hour, "HOTSHARD_EVENT_RETENTION", s.EventRetention, "0, or 1h or more")
	return errors.Join(faults...)
}

// holds reports whether quiet windows are held.
func (s Settings) holds() bool { return s.Hold > s.Window }

// isQuiet reports whether a window's counts may be held, because no key can be nearly hot in the window or in one of its
// seconds.
func (s Settings) isQuiet(w *heat.WindowCounter) bool {
	tableRate, indexRate := s.quietRates()
	tableUnits, indexUnits := w.Units()
	seconds := w.Length.Seconds()
	return float64(tableUnits) < tableRate*seconds && float64(indexUnits) < indexRate/maxSpread*seconds
}

// quietRates returns the WCU/s below which counts may be held: for a key of the table, none of whose seconds then
// reaches a partition's limit, and for a key of an index, summed over up to [maxSpread] stream shards.
func (s Settings) quietRates() (table, index float64) {
	return min(s.hotRate()/4, float64(s.PartitionWCU)/s.Window.Seconds()), s.hotRate() / 4
}

// storedBy returns the time by which the items of a window are normally stored. With a Hold, Lambda ends the tumbling
// window of an idle stream shard up to two minutes late.
func (s Settings) storedBy(start time.Time) time.Time {
	if !s.holds() {
		return start.Add(s.Window + heat.OnTime)
	}
	return heat.AlignDown(start, s.Hold).Add(s.Hold + idleTime)
}

// idleTime is how long Lambda may wait for records after a tumbling window's end.
const idleTime = 2 * time.Minute

func (s Settings) names() schema.Names {
	name := func(nameOrARN string) string {
		name, _, _, _ := dynamo.TableName(nameOrARN) // Validate found no error
		return name
	}
	return schema.Names{Items: name(s.ItemsTable), Events: name(s.EventsTable), ShardMap: name(s.ShardMapTable), Heat: name(s.HeatTable)}
}

func (s Settings) policy() Policy { // growKey sets the Partitions of its table
	return Policy{Limit: float64(s.PartitionWCU), Threshold: s.Threshold, Partitions: shardmap.FewPartitions}
}

// hotRate returns the certified WCU/s from which a key is hot.
func (s Settings) hotRate() float64 { return s.Threshold * float64(s.PartitionWCU) }
