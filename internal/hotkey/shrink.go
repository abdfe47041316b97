package hotkey

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ShrinkTask is the payload that a schedule hands to [Handler.Invoke] every
// [Settings.TaskInterval]: an object with this one member. The answer is
//
//	{"keys":3,"shrunk":1}
//
// the keys looked at, and the shard counts changed.
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
	mu   sync.Mutex // is held while it runs
}

// task runs a scheduled task.
func (r *shrinker) task(ctx context.Context, j *journal) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var answer done
	if r.settings.Control != growth.Off && j.source.Own {
		var err error
		if answer, err = r.shrink(ctx, j, j.now().UTC()); err != nil {
			return nil, err
		}
	}
	// An alarm waits for this line.
	j.InfoContext(ctx, "shrink task done", "keys", answer.Keys, "shrunk", answer.Shrunk)
	return json.Marshal(answer)
}

// settled is the begin of the hours of which more may be reported yet. What was written
// before it has been counted, and its window reported, or was given up: no record is
// older than [RecordAge] when it comes, and its window ends soon after.
func (s Settings) settled(now time.Time) time.Time {
	return now.Add(-RecordAge - 2*s.Window).Truncate(time.Hour)
}

// day is for how long the load of a key must have been low whose write shards are
// calculated: one that grows again takes no writes for seconds.
const day = 24 * time.Hour

// quietFrom is the begin of a key's quiet time.
func (s Settings) quietFrom(base schema.BaseKey, now time.Time) time.Time {
	if growth.PlacementOf(base.Type) == growth.Random {
		return now.Add(-s.Quiet)
	}
	return s.settled(now).Add(-day)
}

// candidate is a key that may shrink: it has several write shards, since a time.
type candidate struct {
	shardmap.Entry
	base schema.BaseKey
}

// candidates are the keys that are neither pinned nor about to change.
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

// shrink lowers the shard counts of keys whose load was low in all of their quiet time:
// in each hour that is settled, by its summary, and in each window since.
func (r *shrinker) shrink(ctx context.Context, j *journal, now time.Time) (answer done, err error) {
	entries, err := r.shards.Entries(ctx)
	if err != nil {
		return answer, fmt.Errorf("hotkey: listing sharded keys: %w", err)
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
		past.enter(&calm, r.settings.settled(now))
		d := r.settings.policy().Relax(calm, c.Entry)
		if r.said.first("shrink "+c.Key, d.Why) && d.Action == None {
			j.InfoContext(ctx, "shard count not lowered", "key", r.settings.shown(c.Key), "shards", d.From, "why", d.Why)
		}
		if d.Action == Shrink && r.execute(ctx, j, c.Entry, d) { // an error was logged, and the next run tries again
			answer.Shrunk++
		}
	}
	return answer, nil
}
