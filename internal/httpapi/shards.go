package httpapi

import (
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// BaseKey names a base key in a request.
type BaseKey struct {
	Type Kind `json:"type" doc:"The key's type" example:"counter"`
	Name Name `json:"name" example:"page/home"`
}

// Kind is the kind of a base key in a request or a response.
type Kind schema.Kind

// Schema describes the kind in the OpenAPI document, with the names of all kinds.
func (Kind) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, k := range schema.Kinds() {
		s.Enum = append(s.Enum, string(k))
	}
	return s
}

// Base returns the base key as package schema has it.
func (k BaseKey) Base() schema.BaseKey {
	return schema.BaseKey{Type: schema.Kind(k.Type), Name: string(k.Name)}
}

// ShardCount is a base key's entry in the shard map as callers see it.
type ShardCount struct {
	Type    Kind          `json:"type" doc:"The key's type"`
	Name    Name          `json:"name" example:"page/home"`
	Shards  int           `json:"shards" doc:"The newest shard count"`
	Max     int           `json:"max_shards" doc:"The largest shard count so far"`
	Pinned  bool          `json:"pinned" doc:"True if an operator pinned the count: the controller does not change it"`
	History []ShardChange `json:"history" doc:"Oldest first; before the first change the count is 1"`
}

// ShardChange is one change of a shard count.
type ShardChange struct {
	Time   string `json:"time" format:"date-time" doc:"When the count takes effect: for an entity about 4 s after an increase and 3 minutes after a decrease, for other types at once"`
	Shards int    `json:"shards" doc:"The shard count from then on"`
	By     string `json:"by" doc:"What made the change: api, ingest, hotkeys or an operator"`
	Why    string `json:"why" doc:"The reason, as text"`
}

// ShowShards returns an entry as callers see it.
func ShowShards(key schema.BaseKey, entry shardmap.Entry) ShardCount {
	shown := ShardCount{
		Type: Kind(key.Type), Name: Name(key.Name), Shards: entry.History.Newest(), Max: entry.Most(), Pinned: entry.Pinned,
		History: make([]ShardChange, len(entry.History)),
	}
	for i, c := range entry.History {
		note := entry.Notes[c.At.UnixMilli()]
		shown.History[i] = ShardChange{Time: FormatTime(EffectiveTime(key.Type, entry, c)), Shards: c.Count, By: note.By, Why: note.Why}
	}
	return shown
}

// EffectiveTime returns when a change of an entry's history takes effect. For kinds whose write shards depend on time,
// that is the change's At, some seconds or minutes after the change was made. For other kinds it is the time at which
// the change was made, or At if the change's note is missing.
func EffectiveTime(kind schema.Kind, entry shardmap.Entry, change shard.Change) time.Time {
	made := entry.Notes[change.At.UnixMilli()].Made
	if schema.TraitsOf(kind).Placement == schema.TimedPlacement || made.IsZero() {
		return change.At
	}
	return made
}
