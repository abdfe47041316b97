package heat

import (
	"math"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Row is one key of a [Matrix], or a range of neighbouring keys that were not hot. With [MapOptions.ByBase] its keys
// are base keys. The HTTP API, reports and the console use this form.
type Row struct {
	Key      string       `json:"key" doc:"The partition key; with group=base the stored base key, such as C#page/home; for a range the common prefix of its keys"`
	Keys     int          `json:"keys" doc:"1, or the number of known keys in the range"`
	First    string       `json:"first,omitempty" doc:"The first key of a range"`
	Last     string       `json:"last,omitempty" doc:"The last key of a range"`
	Index    string       `json:"index,omitempty" doc:"The index of the partition key; absent for the table's own keys"`
	Type     schema.Kind  `json:"type,omitempty" enum:"entity,counter,board,sessions,limit" doc:"The base key's type; absent for a range and for a key without a base key"`
	Name     string       `json:"name,omitempty" doc:"The base key's name, if it has a type"`
	Shards   int          `json:"shards,omitempty" doc:"The base key's newest shard count, if it has a type"`
	Status   Status       `json:"status" enum:"hot,saturated,normal" doc:"The current status, from the two newest complete windows and what is known of later ones. saturated: at the partition's limit; hot: near it, or one second reached it, or a writer was throttled and one second took half of it; normal: below that"`
	Worst    Status       `json:"worst" enum:"hot,saturated,normal" doc:"The worst status in any window. No key of a range was hot"`
	Rate     float64      `json:"write_units_per_second" doc:"WCU/s of the row's hottest partition key in its hottest window: a measured lower bound"`
	Current  float64      `json:"current" doc:"WCU/s of the row's hottest partition key in the newest complete window"`
	Peak     uint64       `json:"peak" doc:"WCU in a partition key's heaviest second"`
	CooledAt display.Time `json:"cooled_at,omitzero" format:"date-time" doc:"End of the last hot window; absent if the key is hot or never was"`
	Units    []uint64     `json:"units" doc:"Write units in each column, a lower bound"`
	Error    []uint64     `json:"error" doc:"Upper bound of the error in each column: the true number is at most units plus error"`
	Heaviest []float64    `json:"heaviest" doc:"WCU/s of the row's hottest partition key in each column's heaviest window"`
	Changes  []Change     `json:"changes,omitempty" doc:"Changes of the base key's shard count in this time, oldest first"`

	WriteShards []Row `json:"write_shards,omitempty" doc:"An unfolded row's partition keys, by time bucket, period and number"`
}

// Change is one change of a base key's shard count.
type Change struct {
	Time   display.Time `json:"time" format:"date-time" doc:"When the count takes effect: for an entity about 4 s after an increase and 3 minutes after a decrease, for other types at once"`
	Shards int          `json:"shards" doc:"The shard count from then on"`
	Before int          `json:"before" doc:"The shard count before"`
	By     string       `json:"by" doc:"What made the change: api, ingest (a writer whose writes were throttled) or hotkeys (the controller)"`
	Why    string       `json:"why" doc:"The reason, as text"`
}

// Throttled reports whether a writer raised the shard count because its writes to the key were throttled.
func (c *Change) Throttled() bool { return c.By == "ingest" && c.Shards > c.Before }

// Hundredths rounds a rate down to two decimals, so that it stays a lower bound.
func Hundredths(rate float64) float64 { return math.Floor(rate*100) / 100 }

// Base returns the row's base key, or the zero value for a range and for a key without one.
func (r *Row) Base() schema.BaseKey { return schema.BaseKey{Type: r.Type, Name: r.Name} }

// setVerdicts sets the fields of the row that show its verdicts.
func (r *Row) setVerdicts(v Verdicts) {
	r.Status, r.Worst, r.Current, r.CooledAt = v.Now, v.Worst, Hundredths(v.Current), display.Time{Time: v.CooledAt()}
}
