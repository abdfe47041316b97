package query

import (
	"context"
	"math"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/keyname"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Bounds of since.
const (
	minSince = time.Second
	maxSince = 24 * time.Hour
)

type hotKeysInput struct {
	Since httpapi.DurationText `query:"since" default:"15m" doc:"How far back to look, 1s to 24h"`
	Limit int                  `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Keys of the answer, at most"`
}

type hotKey struct {
	Key    string  `json:"key" doc:"The partition key"`
	Table  string  `json:"table,omitempty" doc:"Whose key it is, if not hotshard's own"`
	Index  string  `json:"index,omitempty" doc:"The index whose partition key it is; none for the table's own. A board's write shards are in by_rank, for each of its periods, and those of a group of sessions in by_group"`
	Type   string  `json:"type" enum:"entity,counter,board,sessions,limit,other" doc:"The base key's; other for a key that is none"`
	Name   string  `json:"name" doc:"The base key's; for type other, as a player's entry on a board or a single session, the partition key"`
	Status string  `json:"status" enum:"hot,saturated,warm" doc:"saturated: at its partition's limit; hot: near it; warm: below that"`
	Rate   float64 `json:"write_units_per_second" doc:"Certified mean rate of the key's hottest window: a lower bound"`
	Error  float64 `json:"error" doc:"The true rate of recorded writes is at most this much higher"`
	Peak   float64 `json:"peak" doc:"Write units in its heaviest second"`
	PeakAt string  `json:"peak_at" format:"date-time" doc:"That second"`
	Shards int     `json:"shards" doc:"The base key's newest shard count"`
	First  string  `json:"first_seen" format:"date-time" doc:"The start of the first window that has it"`
	Last   string  `json:"last_seen" format:"date-time" doc:"The end of the last one"`
	Advice string  `json:"advice" doc:"How many write shards it needs, or why more of them don't help"`
	Hash   string  `json:"metric_hash" doc:"What metrics and logs call it where names are hashed"`
}

type hotKeysOutput struct {
	Body struct {
		Keys []hotKey `json:"keys" doc:"The hottest first"`
	}
}

func (h *Heat) listHotKeys(ctx context.Context, in *hotKeysInput, now time.Time) (*hotKeysOutput, error) {
	since, fault := in.Since.Within(minSince, maxSince, time.Millisecond)
	if fault != "" {
		return nil, httpapi.InvalidAt("query.since", fault, in.Since)
	}
	rows, err := h.hottest(ctx, now.Add(-since), now.Add(ahead), in.Limit)
	if err != nil {
		return nil, err
	}
	out := &hotKeysOutput{}
	out.Body.Keys = []hotKey{}
	for _, row := range rows {
		key, err := h.describe(ctx, row, now)
		if err != nil {
			return nil, err
		}
		out.Body.Keys = append(out.Body.Keys, key)
	}
	return out, nil
}

// describe says what a row is about.
func (h *Heat) describe(ctx context.Context, row heat.Row, now time.Time) (hotKey, error) {
	out := hotKey{
		Key: row.Key, Table: row.Table, Index: row.Index, Type: "other", Name: row.Key, Status: row.Status.String(), Shards: 1,
		Rate: round(row.WriteUnitsPerSecond), Error: round(row.Error), Peak: float64(row.Peak),
		PeakAt: httpapi.FormatTime(row.PeakAt), Hash: keyname.Pseudonym(row.MetricName()),
		First: httpapi.FormatTime(row.FirstSeen), Last: httpapi.FormatTime(row.LastSeen),
	}
	base, ok := row.Base()
	if !ok || h.o.Shards == nil {
		out.Advice = row.Advice(1, time.Time{}, shardmap.FewPartitions)
		return out, nil
	}
	entry, err := h.o.Shards.Lookup(ctx, base.String(), now)
	if err != nil {
		return out, err
	}
	out.Type, out.Name, out.Shards = string(base.Type), base.Name, entry.History.Newest()
	out.Advice = row.Advice(out.Shards, entry.Effective(), h.o.Shards.Partitions())
	return out, nil
}

// round keeps what two decimals can tell, downwards: a rate is a lower bound.
func round(rate float64) float64 { return math.Floor(rate*100) / 100 }
