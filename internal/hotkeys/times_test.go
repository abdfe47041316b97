package hotkeys

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestTimesOfHeatRelate checks how the times of the detector, of its folds and of the shrink task relate.
func TestTimesOfHeatRelate(t *testing.T) {
	slowest := Settings{Window: maxWindow, Hold: heat.MaxHold}
	oldest := longQuiet + time.Hour + slowest.lastItems() + 2*HeatInterval // of what the shrink task reads; settled rounds to an hour
	for name, ok := range map[string]bool{
		"an item that is put in time is in the fold, if clocks differ": settleTime >= heat.OnTime+slowPut+shardmap.Clocks,
		"a report waits no longer than an item may take":               reportTime <= heat.OnTime,
		"a fold waits for no silent stream shard":                      settleTime < heat.Silence,
		"a window is folded by the second run":                         settleTime < HeatInterval,
		"a run can catch up with blocks":                               blocksEach*heat.Blocks.Length() > catchUp && catchUp%heat.Blocks.Length() == 0 && catchUp > HeatInterval,
		"held windows are put within a minute's runs":                  heat.MaxHold <= catchUp && idleTime > heat.OnTime,
		"records expire after the mapping discards them":               RecordAge < streamRetention,
		"a window's last items come before it is settled":              slowest.lastItems() >= RecordAge+slowest.Window+heat.OnTime,
		"items outlive the quiet period":                               oldest <= 28*time.Hour && heatRetention >= 28*time.Hour,
		"a quiet time is longer than a record's age":                   quietTime >= RecordAge && longQuiet > quietTime,
		"a running detector is known to run":                           recently >= maxWindow,
		"counts of partitions end before the next":                     countTime <= countWait && countWait < HeatInterval,
		"calls for a report end with it":                               claimTime+adviceTime <= reportTime && reportTime <= decideTime,
	} {
		if !ok {
			t.Error(name)
		}
	}
}
