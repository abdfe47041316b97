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

// done is a task's answer.
type done struct {
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
	var answer done
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

// settled returns the start of the hours for which more reports may still come. Earlier writes were counted and
// reported, or discarded: records are no older than [RecordAge] when they arrive, and their windows end soon after.
func (s Settings) settled(now time.Time) time.Time {
	return now.Add(-RecordAge - 2*max(s.Window, s.Hold)).Truncate(time.Hour)
}

// day is the quiet period of keys with calculated write shards: if such a key grows again, it takes no writes for
// seconds.
const day = 24 * time.Hour

// quietFrom returns the start of a key's quiet period.
func (s Settings) quietFrom(base schema.BaseKey, now time.Time) time.Time {
	if kind.Of(base.Type).Placement == kind.Random {
		return now.Add(-s.Quiet)
	}
	return s.settled(now).Add(-day)
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

// shrink lowers the shard counts of keys whose load was low in all of their quiet period. It reads the summaries of
// settled hours, and each window since.
func (r *shrinker) shrink(ctx context.Context, j *journal, now time.Time) (answer done, err error) {
	entries, err := r.shards.Entries(ctx)
	if err != nil {
		return answer, fmt.Errorf("hotkeys: listing sharded keys: %w", err)
	}
	keys := candidates(entries, now)
	if answer.Keys = len(keys); len(keys) == 0 {
		return answer, nil
	}
	past, err := r.summaries(ctx, j, keys, now)
	if err != nil {
		return answer, err
	}
	ripe := slices.DeleteFunc(keys, func(c candidate) bool { return c.Effective().After(r.settings.quietFrom(c.base, now)) })
	if len(ripe) == 0 {
		return answer, nil
	}
	latest := newCalms(ripe, func(c candidate) time.Time { return r.settings.quietFrom(c.base, now) })
	if err := latest.read(ctx, j, r.heat, r.settings.settled(now), now.Add(r.settings.Window), now); err != nil {
		return answer, err
	}
	for _, c := range ripe {
		calm := latest[c.base].Calm
		past.addTo(&calm, r.settings.settled(now))
		d := r.settings.policy().Relax(calm, c.Entry)
		if r.logged.changed("shrink "+c.Key, d.Why) && d.Action == None {
			j.InfoContext(ctx, "shard count not lowered", "key", r.settings.displayName(c.Key), "shards", d.From, "why", d.Why)
		}
		if d.Action == Shrink && r.execute(ctx, j, c.Entry, d) { // an error was logged, and the next run tries again
			answer.Shrunk++
		}
	}
	return answer, nil
}
