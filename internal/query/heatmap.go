package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
)

// Bounds of a map.
const (
	defaultHeatSpan = 15 * time.Minute
	maxHeatSpan     = 7 * 24 * time.Hour
	minStep         = time.Second
	maxStep         = 10 * time.Minute
	maxColumns      = 1440
	usualColumns    = 240
)

// steps are those that are chosen from.
var steps = []time.Duration{
	10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour,
}

type heatInput struct {
	From   httpapi.Time         `query:"from" doc:"RFC 3339; the column that holds it is the first. Default: 15 minutes before to"`
	To     httpapi.Time         `query:"to" doc:"RFC 3339; the last column starts before it. Default: now. At most 7 days after from"`
	Step   httpapi.DurationText `query:"step" doc:"A column's length, 1s to 10m in whole seconds, at most 1,440 columns. Default: 10s or more, so that there are at most 240. Windows that are longer are spread evenly"`
	Rows   int                  `query:"rows" minimum:"1" maximum:"256" default:"256" doc:"Rows of the answer, at most"`
	Table  string               `query:"table" maxLength:"255" doc:"Whose keys; hotshard's own table, or the one that is watched, unless named"`
	Index  string               `query:"index" maxLength:"255" doc:"The index whose partition keys are shown. Default: the table's own"`
	Prefix string               `query:"prefix" maxLength:"2048" doc:"Only keys that begin with it have rows; the others are in rest"`
}

type heatRow struct {
	Key    string   `json:"key" doc:"The partition key; of a range the prefix that its keys have in common"`
	Keys   int      `json:"keys" doc:"1, or how many keys the range has of which something is known"`
	First  string   `json:"first,omitempty" doc:"The first key of a range"`
	Last   string   `json:"last,omitempty" doc:"Its last one"`
	Index  string   `json:"index,omitempty" doc:"The index whose partition key it is; none for the table's own"`
	Type   string   `json:"type,omitempty" enum:"entity,counter,board,sessions,limit" doc:"The base key's, if it is one key and has one"`
	Name   string   `json:"name,omitempty" doc:"The base key's, likewise"`
	Status string   `json:"status" enum:"hot,saturated,warm" doc:"The worst of any window. A range has none that was hot"`
	Rate   float64  `json:"write_units_per_second" doc:"Certified mean rate of its hottest window: a lower bound. Of a range the greatest of its keys"`
	Units  []uint64 `json:"units" doc:"Write units, one number a column: it got at least so many"`
	Error  []uint64 `json:"error" doc:"It got at most so many more, one number a column"`
}

type heatOutput struct {
	Body struct {
		From         string           `json:"from" format:"date-time" doc:"Start of the first column"`
		To           string           `json:"to" format:"date-time" doc:"End of the last column"`
		Step         httpapi.Duration `json:"step" doc:"A column's length, such as 10s or 1m"`
		PartitionWCU float64          `json:"partition_wcu" doc:"Write units a second that a partition takes, as of the newest window; 0 without any"`
		HotWCU       float64          `json:"hot_wcu" doc:"Write units a second from which on a key is hot, likewise"`
		AsOf         string           `json:"as_of,omitempty" format:"date-time" doc:"End of the newest window; absent without any"`
		Table        string           `json:"table,omitempty" doc:"Whose keys these are, if not those of hotshard's own table"`
		Indexes      []string         `json:"indexes" doc:"The table's indexes that took writes in this time"`
		Rows         []heatRow        `json:"rows" doc:"In the order of keys"`
		Rest         []uint64         `json:"rest" doc:"What no row has, one number a column: rest and the units of all rows add up to total"`
		Total        []uint64         `json:"total" doc:"Write units of the table, or of the index, one number a column"`
		Covered      []float64        `json:"covered" doc:"The share of each column's time and records that is known: 0 where nothing was counted, be it that nothing was written"`
	}
}

func (h *Heat) getHeat(ctx context.Context, in *heatInput, now time.Time) (*heatOutput, error) {
	o, err := in.options(now.UTC())
	if err != nil {
		return nil, err
	}
	o.Table = cmp.Or(in.Table, h.o.Table)
	m := heat.NewMap(o)
	for window, err := range h.source.Windows(ctx, o.From, o.To, o.Step) {
		if err := fault(window, err); err != nil {
			return nil, err
		}
		m.Add(window.Items)
	}
	out := matrixAnswer(m.Matrix())
	out.Body.Table = o.Table
	if weight, err := httpapi.WeightOf(out.Body); err != nil || weight > httpapi.MaxAnswer {
		return nil, cmp.Or(err, httpapi.InvalidAt("query.rows", "the matrix is more than 5 MB: ask for fewer rows or columns", in.Rows))
	}
	return out, nil
}

// options are the map's, but for the table. Columns start at multiples of the step.
func (in *heatInput) options(now time.Time) (o heat.MapOptions, err error) {
	o = heat.MapOptions{From: in.From.UTC(), To: in.To.UTC(), Rows: in.Rows, Index: in.Index, Prefix: in.Prefix}
	if in.To.IsZero() {
		o.To = now
	}
	if in.From.IsZero() {
		o.From = o.To.Add(-defaultHeatSpan)
	}
	if o.Step, err = in.step(o.To.Sub(o.From)); err != nil {
		return o, err
	}
	o.From, o.To = o.From.Truncate(o.Step), o.To.Add(o.Step-1).Truncate(o.Step)
	return o, nil
}

// step is the columns' length in such a time.
func (in *heatInput) step(span time.Duration) (time.Duration, error) {
	switch {
	case span <= 0 && in.To.IsZero():
		return 0, httpapi.InvalidAt("query.from", "it must be before now", httpapi.FormatTime(in.From.Time))
	case span <= 0:
		return 0, httpapi.InvalidAt("query.to", "it must be after from", httpapi.FormatTime(in.To.Time))
	case span > maxHeatSpan:
		return 0, httpapi.InvalidAt("query.from", "it must be at most 7 days before to", httpapi.FormatTime(in.From.Time))
	}
	if in.Step != "" {
		step, fault := in.Step.Within(minStep, maxStep, time.Second)
		if fault == "" && (span+step-1)/step > maxColumns {
			fault = fmt.Sprintf("it makes %d columns of this time: at most %d", (span+step-1)/step, maxColumns)
		}
		if fault != "" {
			return 0, httpapi.InvalidAt("query.step", fault, in.Step)
		}
		return step, nil
	}
	for _, step := range steps {
		if span <= usualColumns*step {
			return step, nil
		}
	}
	return steps[len(steps)-1], nil
}

// matrixAnswer writes a matrix as an answer.
func matrixAnswer(m heat.Matrix) *heatOutput {
	out := &heatOutput{}
	b := &out.Body
	b.From, b.To, b.Step = httpapi.FormatTime(m.From), httpapi.FormatTime(m.To), httpapi.Duration{Duration: m.Step}
	b.PartitionWCU, b.HotWCU, b.Rest, b.Total = m.PartitionWCU, m.HotWCU, m.Rest, m.Total
	if !m.AsOf.IsZero() {
		b.AsOf = httpapi.FormatTime(m.AsOf)
	}
	b.Indexes, b.Rows = append([]string{}, m.Indexes...), []heatRow{}
	for _, share := range m.Covered {
		b.Covered = append(b.Covered, math.Round(share*1000)/1000)
	}
	for i := range m.Rows {
		b.Rows = append(b.Rows, rowAnswer(&m.Rows[i], m.Table))
	}
	return out
}

func rowAnswer(r *heat.MapRow, table string) heatRow {
	out := heatRow{
		Key: r.Key, Keys: r.Keys, First: r.First, Last: r.Last, Index: r.Index, Status: r.Status.String(),
		Rate: round(r.Rate), Units: r.Units, Error: r.Error,
	}
	row := heat.Row{Table: table, Index: r.Index, Key: r.Key}
	if base, ok := row.Base(); ok && r.Keys == 1 {
		out.Type, out.Name = string(base.Type), base.Name
	}
	return out
}
