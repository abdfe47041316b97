package httpapi

import (
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// BaseKey names a base key in a request.
type BaseKey struct {
	Type schema.Type `json:"type" enum:"counter,entity,board,sessions,limit" doc:"What the key is a name of" example:"counter"`
	Name Name        `json:"name" example:"page/home"`
}

// Base returns it as the schema has it.
func (k BaseKey) Base() schema.BaseKey { return schema.BaseKey{Type: k.Type, Name: string(k.Name)} }

// ShardCount is what callers see of a base key's entry in the shard map.
type ShardCount struct {
	Type    schema.Type   `json:"type" enum:"counter,entity,board,sessions,limit" doc:"What the key is a name of"`
	Name    Name          `json:"name" example:"page/home"`
	Shards  int           `json:"shards" doc:"The newest shard count"`
	Max     int           `json:"max_shards" doc:"The largest it ever was"`
	Pinned  bool          `json:"pinned" doc:"Set by a person: the controller leaves it alone"`
	History []ShardChange `json:"history" doc:"Oldest first; before the first change the count is 1"`
}

// ShardChange is one change of a shard count.
type ShardChange struct {
	Time   string `json:"time" format:"date-time" doc:"When it comes into force for events; for other types it is in force at once"`
	Shards int    `json:"shards" doc:"The shard count from then on"`
	By     string `json:"by" doc:"Who changed it: api, ingest, hotkeys or a person"`
	Why    string `json:"why" doc:"The reason, in words"`
}

// ShowShards returns what callers see of an entry.
func ShowShards(key schema.BaseKey, e shardmap.Entry) ShardCount {
	shown := ShardCount{
		Type: key.Type, Name: Name(key.Name), Shards: e.History.Newest(), Max: e.Most(), Pinned: e.Pinned,
		History: make([]ShardChange, len(e.History)),
	}
	for i, c := range e.History {
		note := e.Notes[c.At.UnixMilli()]
		shown.History[i] = ShardChange{Time: FormatTime(c.At), Shards: c.Count, By: note.By, Why: note.Why}
	}
	return shown
}
