package hotkeys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestBoundsOfSettings checks the lowest and the highest value of each setting.
func TestBoundsOfSettings(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*hotkeys.Settings)
		valid  bool
	}{
		{"WINDOW", func(s *hotkeys.Settings) { s.Window = time.Second }, true},
		{"WINDOW", func(s *hotkeys.Settings) { s.Window = 0 }, false},
		{"WINDOW", func(s *hotkeys.Settings) { s.Window = 1500 * time.Millisecond }, false},
		{"WINDOW", func(s *hotkeys.Settings) { s.Window = 15 * time.Minute }, true},
		{"WINDOW", func(s *hotkeys.Settings) { s.Window = 15*time.Minute + time.Second }, false},
		{"HOLD", func(s *hotkeys.Settings) { s.Hold = s.Window }, true},
		{"HOLD", func(s *hotkeys.Settings) { s.Hold = 3 * s.Window }, true},
		{"HOLD", func(s *hotkeys.Settings) { s.Hold = s.Window + time.Second }, false},
		{"HOLD", func(s *hotkeys.Settings) { s.Hold = s.Window / 2 }, false},
		{"HOLD", func(s *hotkeys.Settings) { s.Hold = heat.MaxHold }, true},
		{"HOLD", func(s *hotkeys.Settings) { s.Hold = heat.MaxHold + s.Window }, false},
		{"HOLD", func(s *hotkeys.Settings) { s.Hold = -s.Window }, false},
		{"PARTITION_WCU", func(s *hotkeys.Settings) { s.PartitionWCU = 1 }, true},
		{"PARTITION_WCU", func(s *hotkeys.Settings) { s.PartitionWCU = 0 }, false},
		{"THRESHOLD", func(s *hotkeys.Settings) { s.Threshold = 1 }, true},
		{"THRESHOLD", func(s *hotkeys.Settings) { s.Threshold = 1.001 }, false},
		{"THRESHOLD", func(s *hotkeys.Settings) { s.Threshold = 0 }, false},
		{"TOP_K", func(s *hotkeys.Settings) { s.TopK = 10 }, true},
		{"TOP_K", func(s *hotkeys.Settings) { s.TopK = 9 }, false},
		{"TOP_K", func(s *hotkeys.Settings) { s.TopK = 20_000 }, true},
		{"TOP_K", func(s *hotkeys.Settings) { s.TopK = 20_001 }, false},
		{"EVENT_AHEAD", func(s *hotkeys.Settings) { s.EventAhead = 1 }, true},
		{"EVENT_AHEAD", func(s *hotkeys.Settings) { s.EventAhead = 0 }, false},
		{"EVENT_AHEAD", func(s *hotkeys.Settings) { s.EventAhead = shardmap.MaxEventAhead }, true},
		{"EVENT_AHEAD", func(s *hotkeys.Settings) { s.EventAhead = shardmap.MaxEventAhead + 1 }, false},
		{"EVENT_RETENTION", func(s *hotkeys.Settings) { s.EventRetention = 0 }, true},
		{"EVENT_RETENTION", func(s *hotkeys.Settings) { s.EventRetention = time.Hour }, true},
		{"EVENT_RETENTION", func(s *hotkeys.Settings) { s.EventRetention = time.Hour - 1 }, false},
		{"CONTROL", func(s *hotkeys.Settings) { s.Control = "on" }, false},
		{"METRIC_NAMES", func(s *hotkeys.Settings) { s.MetricNames = "none" }, false},
		{"HEAT_TABLE", func(s *hotkeys.Settings) { s.HeatTable = "" }, false},
		{"ITEMS_TABLE", func(s *hotkeys.Settings) { s.ItemsTable = "" }, false},
		{"ITEMS_TABLE", func(s *hotkeys.Settings) { s.ItemsTable, s.SourceTable = "", "theirs" }, true},
		{"EVENTS_TABLE", func(s *hotkeys.Settings) { s.EventsTable = "" }, false},
		{"SHARD_MAP_TABLE", func(s *hotkeys.Settings) { s.ShardMapTable = "" }, false},
	} {
		s := settings()
		s.ItemsTable, s.EventsTable, s.ShardMapTable, s.HeatTable, s.Hold = "items", "events", "map", "heat", 0
		c.change(&s)
		if err := s.Validate(); (err == nil) != c.valid || err != nil && !strings.Contains(err.Error(), "HOTSHARD_"+c.name+" is ") {
			t.Errorf("%s: %v, want valid %t: %+v", c.name, err, c.valid, s)
		}
	}
	for quiet, want := range map[time.Duration]time.Duration{
		time.Minute - 1: 5 * time.Second, 2 * time.Minute: 10 * time.Second, 12 * time.Minute: time.Minute,
		13 * time.Minute: 2 * time.Minute, 36 * time.Minute: 3 * time.Minute, 24 * time.Hour: 5 * time.Minute,
	} {
		if got := (hotkeys.Settings{Quiet: quiet}).TaskInterval(); got != want {
			t.Errorf("the task after %v of quiet runs every %v, want %v", quiet, got, want)
		}
	}
}
