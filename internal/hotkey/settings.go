package hotkey

import (
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/keyname"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Settings are the function's environment variables.
type Settings struct {
	// Source is whose stream is counted: hotshard is the items table's, existing that
	// of SourceTable, any table with a stream. Such a table's keys get a report with
	// advice; nothing of it is changed. With a stream view type other than
	// NEW_AND_OLD_IMAGES its write units are lower bounds.
	Source      SourceKind `env:"HOTSHARD_SOURCE" envDefault:"hotshard"`
	SourceTable string     `env:"HOTSHARD_SOURCE_TABLE"`

	// ItemsTable, HeatTable and ShardMapTable name the tables. What is counted
	// goes to the heat table, which is required. The items table, to whose stream's
	// metrics its name is given, and the shard map, for the controller of shard
	// counts, are required but for an existing table.
	ItemsTable    string `env:"HOTSHARD_ITEMS_TABLE"`
	HeatTable     string `env:"HOTSHARD_HEAT_TABLE"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE"`

	// EventAhead is how far ahead of now the times of events may lie, and ViewAge the age
	// beyond which a view of the shard map is renewed. A change of an entity's shard count
	// comes into force their sum and two seconds later. All functions must have the same,
	// up to 8s and up to 5s.
	EventAhead time.Duration `env:"HOTSHARD_EVENT_AHEAD" envDefault:"2s"`
	ViewAge    time.Duration `env:"HOTSHARD_VIEW_AGE" envDefault:"1s"`

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

	// TopK is how many keys a window counts at a time, and as many of indexes; 10 to
	// 20,000. The error of
	// a count is at most the window's write units divided by it (by less, if keys
	// are so long that the window's state, 1 MB, has not room for as many).
	TopK int `env:"HOTSHARD_TOP_K" envDefault:"2000"`

	// HeatRetention is how long heat items are kept; 4h to 8760h. Shard counts shrink
	// by what they say of the last hours, and by a summary of each hour before.
	HeatRetention time.Duration `env:"HOTSHARD_HEAT_RETENTION" envDefault:"168h"`

	// Metrics is where metrics go: cloudwatch is PutMetricData, emf is lines in the
	// log that CloudWatch makes metrics of.
	Metrics MetricSink `env:"HOTSHARD_METRICS" envDefault:"cloudwatch"`

	// MetricKeys is of how many different hot keys an hour there are metrics of their
	// own, which CloudWatch bills by name; 0 to 1,000. All containers share it, by an
	// item of the heat table.
	MetricKeys int `env:"HOTSHARD_METRIC_KEYS" envDefault:"100"`

	// MetricNames is how metrics and log lines name a hot key: plain, hashed (see
	// [keyname.Pseudonym]; GET /v1/hot-keys shows both), or off: log lines don't, and
	// there are no metrics of single keys. Errors of AWS calls name keys all the same.
	MetricNames keyname.Style `env:"HOTSHARD_METRIC_NAMES" envDefault:"plain"`

	// Control says what becomes of decisions on shard counts: act makes the
	// changes, observe logs and counts them only, off decides nothing.
	Control growth.Control `env:"HOTSHARD_CONTROL" envDefault:"act"`

	// Quiet is how long the load of a counter or a limit must have been low before its
	// shard count shrinks; 1m to 24h. Of other keys it is a day. The shrink task is to
	// run every [Settings.TaskInterval]. EventBridge ticks once a minute at most, so a
	// deployment needs 12m or more.
	Quiet time.Duration `env:"HOTSHARD_QUIET" envDefault:"1h"`

	// EventRetention is how long events are kept: changes of shard counts stay in a
	// key's history for as long. The same as ingest's; 0 keeps them for ever, else
	// 1h or more.
	EventRetention time.Duration `env:"HOTSHARD_EVENT_RETENTION" envDefault:"720h"`
}

// SourceKind is whose table is counted.
type SourceKind string

// The sources.
const (
	Hotshard SourceKind = "hotshard"
	Existing SourceKind = "existing"
)

// MetricSink is where metrics go.
type MetricSink string

// The sinks.
const (
	CloudWatch MetricSink = "cloudwatch"
	EMF        MetricSink = "emf"
)

// maxWindow is how long a window may be, tumbling or not.
const maxWindow = 15 * time.Minute

// RecordAge is how long a record may wait for this function, at the most: the event
// source mapping gives up what is older. By then each record is counted or given up, so
// that what is known of a time as long ago does not change any more.
const RecordAge = time.Hour

// TaskInterval is how often the shrink task is to run: a twelfth of the quiet
// period, but 5 s at least and 5 min at most, and above a minute in whole ones, as
// schedules have it.
func (s Settings) TaskInterval() time.Duration {
	every := min(max(s.Quiet/12, 5*time.Second), 5*time.Minute)
	if every > time.Minute {
		every = (every + time.Minute - 1).Truncate(time.Minute)
	}
	return every
}

// Validate reports all faults at once.
func (s Settings) Validate() error {
	var faults []error
	check := func(ok bool, name string, value any, want string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s is %v: want %s", name, value, want))
		}
	}
	own := s.Source != Existing
	check(s.Source == Hotshard || s.Source == Existing, "HOTSHARD_SOURCE", s.Source, "hotshard or existing")
	check(own || s.SourceTable != "", "HOTSHARD_SOURCE_TABLE", "empty", "a table's name, for the source is existing")
	check(!own || s.SourceTable == "", "HOTSHARD_SOURCE_TABLE", s.SourceTable, "nothing, for the source is hotshard")
	check(!own || s.ItemsTable != "", "HOTSHARD_ITEMS_TABLE", "empty", "a table's name")
	check(s.HeatTable != "", "HOTSHARD_HEAT_TABLE", "empty", "a table's name")
	check(!own || s.ShardMapTable != "", "HOTSHARD_SHARD_MAP_TABLE", "empty", "a table's name")
	check(s.Window >= time.Second && s.Window <= maxWindow && s.Window%time.Second == 0,
		"HOTSHARD_WINDOW", s.Window, "whole seconds, 1s to 15m")
	check(s.PartitionWCU >= 1, "HOTSHARD_PARTITION_WCU", s.PartitionWCU, "at least 1")
	check(s.Threshold > 0 && s.Threshold <= 1, "HOTSHARD_THRESHOLD", s.Threshold, "above 0, up to 1")
	check(s.TopK >= 10 && s.TopK <= 20_000, "HOTSHARD_TOP_K", s.TopK, "10 to 20000")
	check(s.HeatRetention >= 4*time.Hour && s.HeatRetention <= 8760*time.Hour, "HOTSHARD_HEAT_RETENTION", s.HeatRetention, "4h to 8760h")
	check(s.Metrics == CloudWatch || s.Metrics == EMF, "HOTSHARD_METRICS", s.Metrics, "cloudwatch or emf")
	check(s.MetricKeys >= 0 && s.MetricKeys <= 1000, "HOTSHARD_METRIC_KEYS", s.MetricKeys, "0 to 1000")
	check(s.MetricNames.Valid(), "HOTSHARD_METRIC_NAMES", s.MetricNames, "plain, hashed or off")
	check(s.Control.Valid(), "HOTSHARD_CONTROL", s.Control, "act, observe or off")
	check(s.Quiet >= time.Minute && s.Quiet <= 24*time.Hour, "HOTSHARD_QUIET", s.Quiet, "1m to 24h")
	check(s.EventAhead > 0 && s.EventAhead <= shardmap.MaxEventAhead, "HOTSHARD_EVENT_AHEAD", s.EventAhead, "above 0, up to "+shardmap.MaxEventAhead.String())
	check(s.ViewAge > 0 && s.ViewAge <= shardmap.MaxViewAge, "HOTSHARD_VIEW_AGE", s.ViewAge, "above 0, up to "+shardmap.MaxViewAge.String())
	check(s.EventRetention == 0 || s.EventRetention >= time.Hour, "HOTSHARD_EVENT_RETENTION", s.EventRetention, "0, or 1h or more")
	return errors.Join(faults...)
}

// policy is what these settings make of the controller.
func (s Settings) policy() Policy {
	return Policy{Limit: float64(s.PartitionWCU), Threshold: s.Threshold, Partitions: shardmap.FewPartitions}
}

// hotRate is how many certified write units a second make a key hot.
func (s Settings) hotRate() float64 { return s.Threshold * float64(s.PartitionWCU) }

// shown is how metrics and log lines name a base key.
func (s Settings) shown(name string) string { return s.MetricNames.Shown(name) }
