package query

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Bounds of since.
const (
	minSince = time.Second
	maxSince = 24 * time.Hour
)

type hotKeysInput struct {
	Since httpapi.DurationText `query:"since" default:"15m" doc:"How far back to look, 1s to 24h"`
	Limit int                  `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Maximum number of keys"`
}

// HotKey is the JSON of one of the hottest keys.
type HotKey struct {
	Key          string       `json:"key" doc:"The partition key; for a base key its hottest write shard's"`
	Table        string       `json:"table" doc:"The table of the key: items or events for hotshard's own tables, else the table's name"`
	Index        string       `json:"index,omitempty" doc:"The index of the partition key; absent for the table's own keys. A board's write shards are in by_rank, those of a group of sessions in by_group"`
	Type         string       `json:"type" enum:"entity,counter,board,sessions,limit,other" doc:"The base key's type; other for a key without a base key"`
	Name         string       `json:"name" doc:"The base key's name; for type other the partition key, such as a player's entry on a board"`
	Status       heat.Status  `json:"status" enum:"hot,saturated,normal" doc:"The current status, from the two newest complete windows and what is known of later ones. saturated: at the partition's limit; hot: near it, or one second reached it, or a writer was throttled and one second took half of it; normal: below that"`
	Worst        heat.Status  `json:"worst" enum:"hot,saturated,normal" doc:"The worst status in any window"`
	Rate         float64      `json:"write_units_per_second" doc:"WCU/s of the key's hottest window: a measured mean, and a lower bound"`
	Current      float64      `json:"current" doc:"WCU/s of the key's hottest write shard in the newest complete window"`
	Error        float64      `json:"error" doc:"Upper bound of the error, in WCU/s: the true rate of recorded writes is at most this much higher"`
	Peak         float64      `json:"peak" doc:"Write units in the key's heaviest second"`
	PeakAt       display.Time `json:"peak_at" format:"date-time" doc:"The heaviest second"`
	CooledAt     display.Time `json:"cooled_at,omitzero" format:"date-time" doc:"End of the last hot window; absent if the key is hot or never was"`
	ThrottledAt  display.Time `json:"throttled_at,omitzero" format:"date-time" doc:"When a throttled writer last raised the shard count; absent if none did"`
	Shards       int          `json:"shards" doc:"The base key's newest shard count"`
	ShardsBefore int          `json:"shards_before" doc:"The base key's shard count before the first change in this time; equal to shards if it did not change"`
	First        display.Time `json:"first_seen" format:"date-time" doc:"Start of the first window with the key"`
	Last         display.Time `json:"last_seen" format:"date-time" doc:"End of the last window with the key"`
	Advice       string       `json:"advice" doc:"How many write shards the key needs, or why more don't help"`
	Hash         string       `json:"metric_hash" doc:"The key's hash, which metrics and logs show if names are hashed"`
}

type hotKeysOutput struct {
	Body struct {
		Keys   []HotKey `json:"keys" doc:"Hottest first"`
		Unread int      `json:"unread,omitempty" doc:"Number of heat items that can't be read. No key has their counts"`
	}
}

// listHotKeys answers GET /v1/hot-keys.
func (h *Heat) listHotKeys(ctx context.Context, in *hotKeysInput, now time.Time) (*hotKeysOutput, error) {
	since, fault := in.Since.Within(minSince, maxSince, time.Millisecond)
	if fault != "" {
		return nil, httpapi.InvalidAt("query.since", fault, in.Since)
	}
	keys, unread, err := h.HotKeys(ctx, since, in.Limit, now)
	if err != nil {
		return nil, err
	}
	out := &hotKeysOutput{}
	out.Body.Keys, out.Body.Unread = keys, unread
	return out, nil
}

// HotKeys returns up to limit keys with the highest write rates from now minus since to now, as GET /v1/hot-keys does.
// unread is the number of heat items that can't be read.
func (h *Heat) HotKeys(ctx context.Context, since time.Duration, limit int, now time.Time) (keys []HotKey, unread int, err error) {
	found, err := h.hottest(ctx, now.Add(-since), now, limit)
	if err != nil {
		return nil, 0, err
	}
	current := currentRows(&found)
	keys = []HotKey{}
	for _, row := range found.rows {
		key, err := h.describe(ctx, row, current[rowIDOf(&row)], found.changed, now)
		if err != nil {
			return nil, 0, err
		}
		keys = append(keys, key)
	}
	return keys, found.unread, nil
}

// describe returns a row as JSON, with its base key's shard counts and the advice. current has the key's rows in the
// current windows.
func (h *Heat) describe(ctx context.Context, row heat.KeyHeat, current []heat.KeyHeat, changed changes, now time.Time) (HotKey, error) {
	out := HotKey{
		Key: row.Key, Table: row.TableName(), Index: row.Index, Type: "other", Name: row.Key, Status: row.Now, Worst: row.Worst, Shards: 1, ShardsBefore: 1,
		Rate: heat.Hundredths(row.WriteUnitsPerSecond), Current: heat.Hundredths(row.Current), Error: heat.Hundredths(row.Error), Peak: float64(row.Peak),
		PeakAt: display.Time{Time: row.PeakAt}, CooledAt: display.Time{Time: row.CooledAt()}, First: display.Time{Time: row.FirstSeen}, Last: display.Time{Time: row.LastSeen},
		Hash: display.Pseudonym(row.MetricName()),
	}
	base, ok := row.Base()
	if !ok || h.options.Shards == nil {
		unsharded := heat.Sharding{Commands: h.options.Commands}
		out.Advice = row.Advice(unsharded.WorstWindow(current), unsharded)
		return out, nil
	}
	entry, err := h.options.Shards.Lookup(ctx, base.String(), now)
	if err != nil {
		return out, err
	}
	out.Type, out.Name, out.Shards = string(base.Type), base.Name, entry.History.Newest()
	out.ShardsBefore = out.Shards
	sharding := heat.ShardingOf(base.Type, entry.History, h.options.Shards.Partitions(schema.TraitsOf(base.Type).Table))
	sharding.Commands = h.options.Commands
	// The history has the times of changes; changed has when they took effect, if that was in the answer's time.
	for i, c := range changed[base.String()] {
		if i == 0 {
			out.ShardsBefore = c.Before
		}
		sharding.Before, sharding.Changed = c.Before, c.Time.Time
		if c.Shards > c.Before {
			sharding.Grown = shard.Change{At: c.Time.Time, Count: c.Shards}
		}
	}
	out.ThrottledAt = throttledAt(changed[base.String()])
	out.Advice = row.Advice(sharding.WorstWindow(current), sharding)
	return out, nil
}
