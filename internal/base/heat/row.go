package heat

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/hotshard/hotshard/internal/base/jsontime"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Row is one key of a [Matrix], or a range of neighbouring keys that were not hot. With [MapOptions.ByBase] its keys
// are base keys. The HTTP API, reports and the console use this form.
type Row struct {
	Row      *int          `json:"row,omitempty" doc:"Of a delta: the row's place in the full answer. A row without a key has the numbers of these columns only, and else stays as it was; error and heaviest are absent if they are 0"`
	Key      string        `json:"key" doc:"The partition key, or with group=base the base key as it is stored, such as C#page/home; of a range the prefix that its keys have in common"`
	Keys     int           `json:"keys" doc:"1, or how many keys the range has of which something is known"`
	First    string        `json:"first,omitempty" doc:"The first key of a range"`
	Last     string        `json:"last,omitempty" doc:"Its last one"`
	Index    string        `json:"index,omitempty" doc:"The index whose partition key it is; none for the table's own"`
	Type     kind.Kind     `json:"type,omitempty" enum:"entity,counter,board,sessions,limit" doc:"The base key's, if it is one key and has one"`
	Name     string        `json:"name,omitempty" doc:"The base key's, likewise"`
	Shards   int           `json:"shards,omitempty" doc:"The base key's newest shard count, likewise"`
	Status   Status        `json:"status" enum:"hot,saturated,warm" doc:"The verdict now, by the two newest complete windows and what is known of later ones: saturated at the partition's limit, hot near it or if a second reached it or if a writer was throttled, else warm"`
	Worst    Status        `json:"worst" enum:"hot,saturated,warm" doc:"The worst verdict on any window of the time. A range has no key that was hot"`
	Rate     float64       `json:"write_units_per_second" doc:"WCU/s of its hottest partition key in its hottest window: a measured lower bound"`
	Current  float64       `json:"current" doc:"The same in the newest complete window"`
	Peak     uint64        `json:"peak" doc:"WCU in the heaviest second of a partition key"`
	CooledAt jsontime.Time `json:"cooled_at,omitzero" format:"date-time" doc:"End of the last hot window, if it was hot and is not now"`
	Units    []uint64      `json:"units" doc:"Write units, one number a column: it got at least so many"`
	Error    []uint64      `json:"error" doc:"It got at most so many more, one number a column"`
	Heaviest []float64     `json:"heaviest,omitempty" required:"true" doc:"WCU/s of its hottest partition key in the heaviest window of the column, one number a column"`
	Changes  []Change      `json:"changes,omitempty" doc:"Changes of the base key's shard count in the time, oldest first"`

	WriteShards []Row `json:"write_shards,omitempty" doc:"Of a row that is unfolded: its partition keys, by time bucket and period and then by number"`

	verdicts Verdicts
	brief    bool // the numbers only
}

// Change is one change of a base key's shard count.
type Change struct {
	Time   jsontime.Time `json:"time" format:"date-time" doc:"When the count takes effect: for an entity a few seconds after the change was made, for other types at once"`
	Shards int           `json:"shards" doc:"The shard count from then on"`
	Before int           `json:"before" doc:"The shard count until then"`
	By     string        `json:"by" doc:"Who changed it: api, ingest (a writer, whose writes were throttled), hotkeys (the controller)"`
	Why    string        `json:"why" doc:"The reason, in words"`
}

// Throttled reports whether a writer made the change, because its writes to the key were throttled.
func (c *Change) Throttled() bool { return c.By == "ingest" && c.Shards > c.Before }

// Hundredths rounds a rate down to two decimals: a rate is a lower bound.
func Hundredths(rate float64) float64 { return math.Floor(rate*100) / 100 }

// Base returns the row's base key, or the zero value for a range and for a key without one.
func (r *Row) Base() schema.BaseKey { return schema.BaseKey{Type: r.Type, Name: r.Name} }

// judge sets the row's verdicts.
func (r *Row) judge(v Verdicts) {
	r.verdicts = v
	r.Status, r.Worst, r.Current, r.CooledAt = v.Now, v.Worst, Hundredths(v.Current), jsontime.Time{Time: v.CooledAt()}
}

// Shorten reduces the row's JSON to its index and its numbers; of lists of zeros only units remain.
func (r *Row) Shorten() {
	r.brief = true
	if slices.Max(r.Error) == 0 {
		r.Error = nil
	}
	if slices.Max(r.Heaviest) == 0 {
		r.Heaviest = nil
	}
}

// MarshalJSON implements [json.Marshaler].
func (r Row) MarshalJSON() ([]byte, error) {
	if !r.brief {
		type whole Row
		return json.Marshal(whole(r))
	}
	return json.Marshal(struct {
		Row      *int      `json:"row"`
		Units    []uint64  `json:"units"`
		Error    []uint64  `json:"error,omitempty"`
		Heaviest []float64 `json:"heaviest,omitempty"`
	}{r.Row, r.Units, r.Error, r.Heaviest})
}
