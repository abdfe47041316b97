// Package report describes the heat of a table over hours: its storms, with their kinds, advice and certainty. It does no
// input or output.
//
// There are two sources. A deployment counts every record, and its report has all windows:
//
//	r := report.FromWindows(settings)
//	for window, err := range source.Windows(ctx, from, to, step) {
//		r.Add(window)
//	}
//	data := r.Data()
//
// For another table the report reads a sample of the stream. A stratum is a span of time of one stream shard. One
// random second of each stratum is read, or all of it if that costs no more calls. Figures are then estimates with
// a 95 % interval:
//
//	r := report.FromSample(settings, plan)
//	r.Add(slice)
//	data := r.Data()
package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/jsontime"
	"github.com/hotshard/hotshard/internal/base/throttles"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Data is a report as its page shows it.
type Data struct {
	Table   string        `json:"table"`
	Where   string        `json:"where"` // the Region, or the endpoint
	From    jsontime.Time `json:"from"`
	To      jsontime.Time `json:"to"`
	Made    jsontime.Time `json:"made"`
	Version string        `json:"version"` // hotshard's version
	Heat    heat.Matrix   `json:"heat"`    // as in GET /v1/heat; figures of a partly read column are estimates for the whole column
	Summary []string      `json:"summary"` // sentences to read first
	Storms  []Storm       `json:"storms"`  // the heaviest first
	Splits  []Split       `json:"splits"`
	Todo    []string      `json:"todo"`
	Read    Read          `json:"read"`
	Cost    Cost          `json:"cost"`

	Throttles *throttles.Report `json:"throttles,omitempty"`      // why requests were throttled
	Vectors   []heat.VectorRate `json:"vector_indexes,omitempty"` // means over the time, estimated from a sample
}

// Kind is the kind of a storm, by what was hot.
type Kind string

// The kinds.
const (
	OneKey     Kind = "one key"
	APrefix    Kind = "a prefix"         // keys with a common prefix, none of them hot
	Rising     Kind = "rising sort keys" // one key, whose newest items have increasing sort keys
	Everything Kind = "everything"       // a whole stream shard, without a key or a prefix that explains it
)

// Storm is a time in which the rate of a key or of a whole stream shard exceeded Settings.HotRate. Rates
// are in WCU/s: the mean of what was read, and its 95 % interval. The end of a storm just over the
// threshold is less certain: about 83 of 100 such intervals contain the mean. If all was read, the
// rates are the hottest window's, and High is the upper bound of its counts.
type Storm struct {
	Kind   Kind          `json:"kind"`
	From   jsontime.Time `json:"from"`
	To     jsontime.Time `json:"to"`
	Key    string        `json:"key"` // the key, the prefix, or the stream shard for Everything
	Index  string        `json:"index,omitempty"`
	Keys   int           `json:"keys"` // number of known keys in the storm
	Rate   float64       `json:"write_units_per_second"`
	Low    float64       `json:"low"`
	High   float64       `json:"high"`
	Advice string        `json:"advice"`
}

// Split is a stream shard with several children. DynamoDB splits a partition that is hot or full.
type Split struct {
	Time     jsontime.Time `json:"time,omitzero"` // approximate; unknown without records of the children
	Parent   string        `json:"parent"`
	Children int           `json:"children"`
}

// Read has the amounts that were read of the stream.
type Read struct {
	Share        float64 `json:"share"` // of the time, over all stream shards
	Records      int     `json:"records"`
	Slices       int     `json:"slices"`
	StreamShards int     `json:"stream_shards"`
	Calls        int     `json:"calls"`
	Note         string  `json:"note"`
}

// Cost has the calls that the report made, and their price.
type Cost struct {
	Calls map[string]int `json:"calls"` // by operation
	USD   float64        `json:"usd"`
	Note  string         `json:"note"`
}

// Settings configure a report.
type Settings struct {
	Table    string
	Foreign  bool // the table is not hotshard's: its keys are not parsed
	Index    string
	From, To time.Time
	Wanted   time.Duration // the requested length
	Oldest   bool          // the report begins at the oldest data, later than requested
	OneShard bool          // the stream has one shard for all partitions, as DynamoDB Local's has
	Limit    float64       // a partition's limit in WCU/s
	HotRate  float64       // lowest rate of a hot key, in WCU/s
	Rows     int           // maximum number of rows of the matrix
}

// named returns the table's name in heat items, which is "" for hotshard's own.
func (s Settings) named() string {
	if s.Foreign {
		return s.Table
	}
	return ""
}

func stamp(t time.Time) jsontime.Time { return jsontime.Time{Time: t.UTC()} }

// share returns a rate as a share of a partition's limit, in words.
func (s Settings) share(rate float64) string {
	return fmt.Sprintf("%.0f%% of the partition limit", math.Floor(100*rate/s.Limit))
}

// advice returns the advice for a storm at the lower bound of its rate. unitsPerWrite is the mean of its writes.
func (s Settings) advice(storm *Storm, unitsPerWrite float64) string {
	switch storm.Kind {
	case APrefix:
		return fmt.Sprintf("%d keys that begin with %q are hot together on one partition. DynamoDB splits the partition within minutes. To avoid throttles until then, raise the table's warm throughput before the next peak, or slow the writers down.", storm.Keys, storm.Key)
	case Everything:
		return "No key or prefix stands out: the table as a whole was busy on this partition. Raise the table's warm throughput before the next peak, or slow the writers down."
	}
	status := max(heat.Hot, s.status(storm.Low))
	row := heat.KeyHeat{
		Table: s.named(), Index: storm.Index, Key: storm.Key, WriteUnitsPerSecond: storm.Low, Limit: s.Limit,
		Status: status, Verdicts: heat.Verdicts{Worst: status, Now: status, Current: storm.Low}, UnitsPerWrite: unitsPerWrite,
	}
	if _, ok := row.Base(); ok {
		return "The key has write shards. GET /v1/hot-keys shows their number and what to do."
	}
	text := row.Advice(1, shard.Change{}, shardmap.FewPartitions)
	if storm.Kind == Rising {
		text = strings.TrimSuffix(text, ".") + ". Its sort keys rise, so a split of its partition does not help: all new items go to one of the new partitions."
	}
	return text
}

func (s Settings) status(rate float64) heat.Status { return heat.Verdict(rate, s.Limit, s.HotRate) }

// quoted returns a key in quotes, without control characters and cut to 60 bytes.
func quoted(key string) string {
	const most = 60
	if len(key) > most {
		key = strings.ToValidUTF8(key[:most], "") + "…"
	}
	return fmt.Sprintf("%q", key)
}
