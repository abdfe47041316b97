package fold

import (
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
)

// TestSettings checks the defaults, and that New names the variables of bad settings.
func TestSettings(t *testing.T) {
	read := func(set map[string]string) (Settings, error) {
		set["HOTSHARD_ITEMS_TABLE"], set["HOTSHARD_ROLLUPS_TABLE"], set["HOTSHARD_SHARD_MAP_TABLE"] = "items", "rollups", "map"
		return env.ParseAsWithOptions[Settings](env.Options{Environment: set})
	}
	s, err := read(map[string]string{})
	if err != nil || !s.Rollups || s.RollupRetention != 0 {
		t.Errorf("defaults: %+v, %v", s, err)
	}
	s, err = read(map[string]string{"HOTSHARD_ROLLUPS": "false", "HOTSHARD_ROLLUP_RETENTION": "48h"})
	if err != nil || s.Rollups || s.RollupRetention != 48*time.Hour || s.Validate() != nil {
		t.Errorf("no rollups: %+v, %v", s, err)
	}
	if _, err := New(Settings{RollupRetention: time.Hour}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "HOTSHARD_ROLLUPS_TABLE") || !strings.Contains(err.Error(), "HOTSHARD_ROLLUP_RETENTION") {
		t.Errorf("New returned %v, want an error with both variables", err)
	}
}
