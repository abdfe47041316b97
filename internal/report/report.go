// Package report says what the heat of a table was over hours: storms, what kind of storm
// each was, what to do about it, and how sure that is. It does no input or output.
//
// There are two ways to a report. Over a deployment every record was counted, and the
// windows of its heat go in whole:
//
//	r := report.FromWindows(settings)
//	for window, err := range source.Windows(ctx, from, to, step) {
//		r.Add(window)
//	}
//	data := r.Data()
//
// Over any other table's stream a sample is read: of each stratum, a stretch of time of one
// stream shard, one second that was drawn at random, or all of it where that costs no more
// calls. What is said of a time then is an estimate with a 95 % interval:
//
//	r := report.FromSample(settings, plan)
//	r.Add(slice)
//	data := r.Data()
package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Data is a report as its page shows it.
type Data struct {
	Table   string   `json:"table"`
	Where   string   `json:"where"` // the Region, or the endpoint
	From    string   `json:"from"`
	To      string   `json:"to"`
	Made    string   `json:"made"`
	Version string   `json:"version"` // of the program that made it
	Heat    Heat     `json:"heat"`
	Summary []string `json:"summary"` // sentences to read first
	Storms  []Storm  `json:"storms"`  // the heaviest first
	Splits  []Split  `json:"splits"`
	Todo    []string `json:"todo"`
	Read    Read     `json:"read"`
	Cost    Cost     `json:"cost"`
}

// Heat is the matrix of keys and times, as GET /v1/heat answers it. Of a column of which less
// than all was read, Covered says how much; its figures are estimates for all of it.
type Heat struct {
	From         string    `json:"from"`
	To           string    `json:"to"`
	Step         string    `json:"step"`
	PartitionWCU float64   `json:"partition_wcu"`
	HotWCU       float64   `json:"hot_wcu"`
	Rows         []Row     `json:"rows"`
	Rest         []uint64  `json:"rest"`
	Total        []uint64  `json:"total"`
	Covered      []float64 `json:"covered"`
}

// Row is a key, or a range of neighbouring ones, as in GET /v1/heat.
type Row struct {
	Key    string   `json:"key"`
	Keys   int      `json:"keys"`
	First  string   `json:"first,omitempty"`
	Last   string   `json:"last,omitempty"`
	Index  string   `json:"index,omitempty"`
	Status string   `json:"status"`
	Rate   float64  `json:"write_units_per_second"` // the greatest that is certain
	Units  []uint64 `json:"units"`
	Error  []uint64 `json:"error"`
}

// Kind is what a storm falls on.
type Kind string

// The kinds.
const (
	OneKey     Kind = "one key"
	APrefix    Kind = "a prefix"         // keys that begin alike, each of them cool
	Rising     Kind = "rising sort keys" // one key, whose newest items have ever greater sort keys
	Everything Kind = "everything"       // a stream shard as a whole, without a key or a prefix in it that explains it
)

// Storm is a time in which a key, or what a stream shard has the records of, took more than
// a partition should. Rates are write units a second: the mean of what was read, and the
// interval in which the storm's mean is with 95 % certainty, if it is well over the threshold:
// where a storm just over it ends is less certain, so that some 83 of 100 intervals have it.
// Where all was read they are the hottest window's, and the interval ends at what the counts
// can have hidden.
type Storm struct {
	Kind   Kind    `json:"kind"`
	From   string  `json:"from"`
	To     string  `json:"to"`
	Key    string  `json:"key"` // or the prefix; of everything the stream shard
	Index  string  `json:"index,omitempty"`
	Keys   int     `json:"keys"` // how many took part, as far as is known
	Rate   float64 `json:"write_units_per_second"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Advice string  `json:"advice"`
}

// Split is a stream shard that was followed by several, which is what DynamoDB does to a
// partition that is hot or full.
type Split struct {
	Time     string `json:"time,omitempty"` // about when; unknown without records of the children
	Parent   string `json:"parent"`
	Children int    `json:"children"`
}

// Read is how much was read.
type Read struct {
	Share        float64 `json:"share"` // of the time, over all stream shards
	Records      int     `json:"records"`
	Slices       int     `json:"slices"`
	StreamShards int     `json:"stream_shards"`
	Calls        int     `json:"calls"`
	Note         string  `json:"note"`
}

// Cost is what reading cost.
type Cost struct {
	Calls map[string]int `json:"calls"` // by operation
	USD   float64        `json:"usd"`
	Note  string         `json:"note"`
}

// Settings are those of a report.
type Settings struct {
	Table    string
	Foreign  bool // a table that hotshard did not shard: its keys are not taken apart
	Index    string
	From, To time.Time
	Limit    float64 // write units a second that a partition takes
	HotRate  float64 // from which on a key is hot
	Rows     int     // of the matrix, at most
}

// named is the table as heat items name it: hotshard's own has no name there.
func (s Settings) named() string {
	if s.Foreign {
		return s.Table
	}
	return ""
}

func stamp(t time.Time) string { return t.UTC().Format(schema.TimeLayout) }

// share is a rate as a part of a partition's limit, in words.
func (s Settings) share(rate float64) string {
	return fmt.Sprintf("%.0f %% of what a partition takes", 100*rate/s.Limit)
}

// advice says what to do about a storm. Its figures are those of the interval's low end, so
// that it says no more than is certain.
func (s Settings) advice(storm *Storm) string {
	switch storm.Kind {
	case APrefix:
		return fmt.Sprintf("%d keys that begin with %q are hot together on one partition: DynamoDB splits it within minutes; to be ahead of it, raise the table's warm throughput before the storm, or pace the writers", storm.Keys, storm.Key)
	case Everything:
		return "no key or prefix stands out: the table as a whole was busy on this partition. Raise its warm throughput before such a time, or pace the writers"
	}
	row := heat.Row{
		Table: s.named(), Index: storm.Index, Key: storm.Key, WriteUnitsPerSecond: storm.Low, Limit: s.Limit,
		Status: s.status(storm.Low),
	}
	if _, ok := row.Base(); ok {
		return "hotshard has write shards for it: see its count and advice by GET /v1/hot-keys"
	}
	_, keys := growth.Hot{Type: schema.Entity, Limit: s.Limit, Shards: 1, Total: storm.Rate}.Remedy(shard.MaxShards)
	text := fmt.Sprintf("spread its writes over %d partition keys", keys)
	if storm.Kind == Rising {
		text += "; its sort keys rise, so a split of its partition would not help: all new items fall on the last part"
	}
	return text
}

func (s Settings) status(rate float64) heat.Status { return heat.Verdict(rate, s.Limit, s.HotRate) }

// quoted is a key as a sentence shows it: its begin, without anything that acts on a
// terminal.
func quoted(key string) string {
	const most = 60
	if len(key) > most {
		key = strings.ToValidUTF8(key[:most], "") + "…"
	}
	return fmt.Sprintf("%q", key)
}
