package hotkeys

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestNotedHold checks from where readers look for windows that are stored together.
func TestNotedHold(t *testing.T) {
	for _, c := range []struct{ held, hold, want time.Duration }{
		{0, 0, heat.NeverHeld}, {0, time.Minute, time.Minute}, {time.Minute, time.Minute, time.Minute}, {heat.NeverHeld, time.Minute, heat.MaxHold}, {time.Minute, 0, heat.MaxHold},
	} {
		r := &folding{folder: &folder{settings: Settings{Window: 10 * time.Second, Hold: c.hold}}, Progress: heat.Progress{Held: c.held}}
		if r.updateHeld(); r.Held != c.want {
			t.Errorf("held %v, now %v: %v, want %v", c.held, c.hold, r.Held, c.want)
		}
	}
}

// TestTimesOfHeatRelate checks how the times of the detector, of its folds and of the shrink task relate.
func TestTimesOfHeatRelate(t *testing.T) {
	slowest := Settings{Window: maxWindow, Hold: heat.MaxHold}
	oldest := longQuiet + time.Hour + slowest.lastItemDelay() + 2*HeatInterval // of what the shrink task reads; settledBefore rounds to an hour
	for name, ok := range map[string]bool{
		"an item that is put in time is in the fold, if clocks differ": foldDelay >= heat.OnTime+slowPut+shardmap.Clocks,
		"a report waits no longer than an item may take":               reportTime <= heat.OnTime,
		"a window is folded by the second run":                         foldDelay < HeatInterval,
		"a run can catch up with blocks":                               maxBlocks*heat.Blocks.Length() > maxFoldRange && maxFoldRange%heat.Blocks.Length() == 0 && maxFoldRange > HeatInterval,
		"held windows are put within a minute's runs":                  heat.MaxHold <= maxFoldRange && idleTime > heat.OnTime,
		"records expire after the mapping discards them":               RecordAge < streamRetention,
		"a window's last items come before it is settled":              slowest.lastItemDelay() >= RecordAge+slowest.Window+heat.OnTime,
		"items outlive the quiet period":                               oldest <= 28*time.Hour && heatRetention >= 28*time.Hour,
		"a quiet time is longer than a record's age":                   quietTime >= RecordAge && longQuiet > quietTime,
		"a running detector is known to run":                           maxReportAge >= maxWindow,
		"counts of partitions end before the next":                     2*countTime <= countWait && countWait < HeatInterval && maxPages*pagePause <= countTime,
		"decisions may take longer than a report":                      reportTime <= decideTime,
	} {
		if !ok {
			t.Error(name)
		}
	}
}
