package ingest

import (
	"errors"
	"fmt"
	"time"
)

// Settings are the function's environment variables.
type Settings struct {
	// ItemsTable and ShardMapTable name the tables. Required.
	ItemsTable    string `env:"HOTSHARD_ITEMS_TABLE,notEmpty"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE,notEmpty"`
	// EventRetention is how long events are kept after the UTC day on which they
	// happened or were written, whichever is later. 0 keeps them for ever; else
	// 1h or more.
	EventRetention time.Duration `env:"HOTSHARD_EVENT_RETENTION" envDefault:"720h"`
	// Deadline bounds the work for one request, retries included; 100ms to 25s.
	// It should be below the function's and the API's time-outs.
	Deadline time.Duration `env:"HOTSHARD_DEADLINE" envDefault:"5s"`
}

// Validate reports all faults at once.
func (s Settings) Validate() error {
	var faults []error
	if s.EventRetention != 0 && s.EventRetention < time.Hour {
		faults = append(faults, fmt.Errorf("HOTSHARD_EVENT_RETENTION is %v: want 0 or at least 1h", s.EventRetention))
	}
	if s.Deadline < 100*time.Millisecond || s.Deadline > 25*time.Second {
		faults = append(faults, fmt.Errorf("HOTSHARD_DEADLINE is %v: want 100ms to 25s", s.Deadline))
	}
	return errors.Join(faults...)
}
