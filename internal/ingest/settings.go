package ingest

import (
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Settings holds the function's environment variables.
type Settings struct {
	// ItemsTable, EventsTable and ShardMapTable name the tables. Required.
	ItemsTable    string `env:"HOTSHARD_ITEMS_TABLE,notEmpty"`
	EventsTable   string `env:"HOTSHARD_EVENTS_TABLE,notEmpty"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE,notEmpty"`
	// EventRetention is how long events are kept after the UTC day on which they happened or were written, whichever is
	// later. 0 keeps them for ever, else 1h or more.
	EventRetention time.Duration `env:"HOTSHARD_EVENT_RETENTION" envDefault:"720h"`
	// BoardRetention is how long a board's entries for a day, week or month are kept after its end. Entries for all
	// time are always kept. 0 keeps all for ever, else 1h or more.
	BoardRetention time.Duration `env:"HOTSHARD_BOARD_RETENTION" envDefault:"720h"`
	// KeyLifetime is for how long an Idempotency-Key applies its call once, 1h to 720h.
	KeyLifetime time.Duration `env:"HOTSHARD_KEY_LIFETIME" envDefault:"24h"`
	// Control is what happens to a throttled key: act adds write shards, observe only logs, and off does nothing.
	Control growth.Control `env:"HOTSHARD_CONTROL" envDefault:"act"`
	// EventAhead is how far in the future the times of events may lie, up to 8s. An increase of an entity's
	// shard count takes effect after this time and 2.25s more. All functions must have the same value.
	EventAhead time.Duration `env:"HOTSHARD_EVENT_AHEAD" envDefault:"2s"`
	// MetricNames is how log lines about shard counts name a key: plain, hashed (see [display.Pseudonym]) or off.
	// Errors of AWS calls always name keys.
	MetricNames display.Style `env:"HOTSHARD_METRIC_NAMES" envDefault:"plain"`

	// Deadline and ViewAge are not in the environment.
	Deadline time.Duration // of one request; 0 is the constant Deadline
	ViewAge  time.Duration // age at which the view of the shard map is refreshed, up to 5s; 0 is the library's default
}

// Deadline bounds the work for one request, with retries. It is shorter than the function's and the API's timeouts. It
// has time for two attempts only, since a waiting request occupies a container.
const Deadline = 2 * time.Second

const maxKeyLifetime = 720 * time.Hour

// Validate returns an error that lists all invalid settings.
func (s Settings) Validate() error {
	var faults []error
	if s.EventRetention != 0 && s.EventRetention < time.Hour {
		faults = append(faults, fmt.Errorf("HOTSHARD_EVENT_RETENTION is %v: want 0 or at least 1h", s.EventRetention))
	}
	if s.BoardRetention != 0 && s.BoardRetention < time.Hour {
		faults = append(faults, fmt.Errorf("HOTSHARD_BOARD_RETENTION is %v: want 0 or at least 1h", s.BoardRetention))
	}
	if s.KeyLifetime < time.Hour || s.KeyLifetime > maxKeyLifetime {
		faults = append(faults, fmt.Errorf("HOTSHARD_KEY_LIFETIME is %v: want 1h to %v", s.KeyLifetime, maxKeyLifetime))
	}
	if s.EventAhead <= 0 || s.EventAhead > shardmap.MaxEventAhead {
		faults = append(faults, fmt.Errorf("HOTSHARD_EVENT_AHEAD is %v: want above 0, up to %v", s.EventAhead, shardmap.MaxEventAhead))
	}
	if !s.Control.Valid() {
		faults = append(faults, fmt.Errorf("HOTSHARD_CONTROL is %q: want act, observe or off", s.Control))
	}
	if !s.MetricNames.Valid() {
		faults = append(faults, fmt.Errorf("HOTSHARD_METRIC_NAMES is %q: want plain, hashed or off", s.MetricNames))
	}
	return errors.Join(faults...)
}
