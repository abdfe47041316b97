package hotkeys

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ShrinkTask is the payload with which a schedule invokes [Handler.Invoke] every [Settings.TaskInterval]. The answer is
//
// `{"keys":3,"shrunk":1}
//
// keys is the number of candidates; shrunk is the number of changed shard counts.
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

// task runs a scheduled task.
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
	// An alarm waits for this line.
	j.InfoContext(ctx, "shrink task done", "keys", answer.Keys, "shrunk", answer.Shrunk)
	return json.Marshal(answer)
}

// settled returns the full hour before which all windows have their final counts. Records are no older than [RecordAge]
// when they arrive, and their windows end soon after.
func (s Settings) settled(now time.Time) time.Time {
	return now.Add(-RecordAge - 2*max(s.Window, s.Hold)).Truncate(time.Hour)
}

// longQuiet is the quiet period of keys without random placement. It is long because a later growth of such a key takes
// effect only after some seconds.
const longQuiet = 24 * time.Hour

// quietFrom returns the start of a key's quiet period.
func (s Settings) quietFrom(base schema.BaseKey, now time.Time) time.Time {
	if kind.Of(base.Type).Placement == kind.Random {
		return now.Add(-s.Quiet)
	}
	return s.settled(now).Add(-longQuiet)
}

// candidate is a key that may shrink: it has several write shards in effect.
type candidate struct {
	shardmap.Entry
	base schema.BaseKey
}

// candidates returns the keys with several write shards that are neither pinned nor about to change, oldest change
// first.
func candidates(entries []shardmap.Entry, now time.Time) (list []candidate) {
	for _, e := range entries {
		base, err := schema.ParseBaseKey(e.Key)
		if err == nil && !e.Pinned && e.History.Newest() > 1 && !e.Effective().After(now) {
			list = append(list, candidate{e, base})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return a.Effective().Compare(b.Effective()) })
	return list
}

// shrink lowers the shard counts of keys whose load was low in their whole quiet period. It reads the summaries of
// settled hours, and every window since.
func (r *shrinker) shrink(ctx context.Context, j *journal, now time.Time) (answer shrinkAnswer, err error) {
	entries, err := r.shards.Entries(ctx)
	if err != nil {
		return answer, fmt.Errorf("hotkeys: listing sharded keys: %w", err)
	}
	keys := candidates(entries, now)
	if answer.Keys = len(keys); len(keys) == 0 {
		return answer, nil
	}
	hours, err := r.summaries(ctx, j, keys, now)
	if err != nil {
		return answer, err
	}
	unchanged := slices.DeleteFunc(keys, func(c candidate) bool { return c.Effective().After(r.settings.quietFrom(c.base, now)) })
	if len(unchanged) == 0 {
		return answer, nil
	}
	latest := newPastLoads(unchanged, func(c candidate) time.Time { return r.settings.quietFrom(c.base, now) })
	if err := latest.read(ctx, j, r.heat, r.settings.settled(now), now.Add(r.settings.Window), now); err != nil {
		return answer, err
	}
	for _, c := range unchanged {
		calm := latest[c.base].PastLoad
		hours.addToLoad(&calm, r.settings.settled(now))
		d := r.settings.policy().DecideShrink(calm, c.Entry)
		if r.logged.changed("shrink "+c.Key, d.Why) && d.Action == None {
			j.InfoContext(ctx, "shard count not lowered", "key", r.settings.displayName(c.Key), "shards", d.From, "why", d.Why)
		}
		if d.Action == Shrink && r.execute(ctx, j, c.Entry, d) { // after an error, the next run tries again
			answer.Shrunk++
		}
	}
	return answer, nil
}
