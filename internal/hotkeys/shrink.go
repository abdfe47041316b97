package hotkeys

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ShrinkTask is the payload with which a schedule invokes [Handler.Invoke] every [Settings.TaskInterval]. The answer is
// {"keys":3,"shrunk":1}: the numbers of unpinned keys with several write shards, and of counts that were lowered.
const ShrinkTask = `{"task":"shrink"}`

// shrinkAnswer is the JSON of the task's answer.
type shrinkAnswer struct {
	Keys   int `json:"keys"`
	Shrunk int `json:"shrunk"`
}

// shrinker is the scheduled task that lowers shard counts.
type shrinker struct {
	*changer
	heat *table
	mu   sync.Mutex // held while the task runs
}

// task lowers the shard counts that may be lower, and returns the [shrinkAnswer].
func (r *shrinker) task(ctx context.Context, j *journal) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var answer shrinkAnswer
	if r.settings.Control != growth.Off && j.source.Own != "" {
		var err error
		if answer, err = r.shrink(ctx, j, j.now().UTC()); err != nil {
			return nil, err
		}
	}
	// An alarm fires if this line is missing.
	j.InfoContext(ctx, "shrink task done", "keys", answer.Keys, "shrunk", answer.Shrunk)
	return json.Marshal(answer)
}

// lastItemDelay returns how long after a window its last items are put. Records are no older than [RecordAge] when they
// arrive, and their windows end soon after.
func (s Settings) lastItemDelay() time.Duration { return RecordAge + 2*max(s.Window, s.Hold) }

// settledBefore returns the full hour before which all windows have their final counts.
func (s Settings) settledBefore(now time.Time) time.Time {
	return now.Add(-s.lastItemDelay() - 2*HeatInterval).Truncate(time.Hour)
}

// blockTime returns how long after a block's start its last items are put, if windows are not longer than the block.
func (s Settings) blockTime() time.Duration {
	return heat.Blocks.Length() + s.lastItemDelay() + idleTime
}

// longQuiet is the quiet period of keys without random placement. It is long because a later growth of such a key takes
// effect only after some seconds.
const longQuiet = 24 * time.Hour

// quietFrom returns when a key's quiet period begins: [Settings.Quiet] ago with random placement, else [longQuiet] before
// the last settled hour.
func (s Settings) quietFrom(base schema.BaseKey, now time.Time) time.Time {
	if schema.TraitsOf(base.Type).Placement == schema.RandomPlacement {
		return now.Add(-s.Quiet)
	}
	return s.settledBefore(now).Add(-longQuiet)
}

// candidate is a key that may shrink, since it has several write shards in effect.
type candidate struct {
	shardmap.Entry
	PastLoad // in the quiet period
}

// candidates returns the keys with several write shards that are not pinned and did not change in their quiet period. total
// also counts the keys that changed in it.
func (s Settings) candidates(entries []shardmap.Entry, now time.Time) (unchanged []candidate, total int) {
	for _, e := range entries {
		base, err := schema.ParseBaseKey(e.Key)
		if err != nil || e.Pinned || e.History.Newest() <= 1 || e.Effective().After(now) {
			continue
		}
		total++
		if from := s.quietFrom(base, now); !e.Effective().After(from) {
			unchanged = append(unchanged, candidate{e, PastLoad{Base: base, From: from, Doubt: doubtUnreported}})
		}
	}
	return unchanged, total
}

// shrink lowers the shard counts of keys whose load was low in their whole quiet period.
func (r *shrinker) shrink(ctx context.Context, j *journal, now time.Time) (answer shrinkAnswer, err error) {
	entries, err := r.shards.Entries(ctx)
	if err != nil {
		return answer, fmt.Errorf("hotkeys: listing the keys in the shard map: %w", err)
	}
	unchanged, total := r.settings.candidates(entries, now)
	answer.Keys = total
	if len(unchanged) == 0 {
		return answer, nil
	}
	if err := r.readLoads(ctx, j, unchanged, now); err != nil {
		return answer, err
	}
	for _, c := range unchanged {
		d := r.settings.policy().DecideShrink(c.PastLoad, c.Entry)
		if r.logged.changed("shrink "+c.Key, d.Why) && d.Action == None {
			j.InfoContext(ctx, "shard count not lowered", "key", r.settings.MetricNames.Shown(c.Key), "shards", d.From, "why", d.Why)
		}
		if d.Action == Shrink && r.execute(ctx, j, c.Entry, d) { // after an error, the next run tries again
			answer.Shrunk++
		}
	}
	return answer, nil
}

// readLoads sets the loads of the keys in their quiet periods. It reads blocks up to [Settings.settledBefore], and then
// minutes and single windows.
func (r *shrinker) readLoads(ctx context.Context, j *journal, keys []candidate, now time.Time) error {
	settled := r.settings.settledBefore(now)
	from := settled
	for _, c := range keys {
		from = heat.MinTime(from, c.From.Truncate(heat.Blocks.Length()))
	}
	loads := newPastLoads(keys)
	err := loads.readWindows(ctx, j, r.heat, from, settled, now, heat.Blocks.Length())
	if err == nil {
		err = loads.readWindows(ctx, j, r.heat, settled, now.Add(r.settings.Window), now, 0)
	}
	if err != nil {
		return fmt.Errorf("hotkeys: reading the heat of keys that may shrink, since %s: %w", from.Format(time.RFC3339), err)
	}
	return nil
}
