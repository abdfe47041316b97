package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
)

// Bounds of a map.
const (
	defaultHeatSpan = 15 * time.Minute
	maxHeatSpan     = 7 * 24 * time.Hour
	minStep         = time.Second
	maxStep         = 10 * time.Minute
	maxColumns      = 1440
	defaultColumns  = 240
)

// steps lists the column lengths that a request without a step may get.
var steps = []time.Duration{
	10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour,
}

type heatInput struct {
	From   httpapi.Time         `query:"from" doc:"RFC 3339; the first column contains it. Default: 15 minutes before to"`
	To     httpapi.Time         `query:"to" doc:"RFC 3339; the last column starts before it. Default: now. At most 7 days after from"`
	Step   httpapi.DurationText `query:"step" doc:"Length of a column, 1s to 10m in whole seconds; at most 1,440 columns. Default: 10s, or more for at most 240 columns. A longer window is distributed evenly over its columns"`
	Rows   int                  `query:"rows" minimum:"1" maximum:"256" default:"256" doc:"Maximum number of rows"`
	Table  string               `query:"table" maxLength:"255" doc:"The table of the keys. Default: hotshard's own tables, or the watched table"`
	Index  string               `query:"index" maxLength:"255" doc:"The index whose partition keys are shown. Default: the table's own"`
	Filter string               `query:"filter" maxLength:"2048" doc:"Only keys that contain this text have rows; the others are in rest. Case is ignored"`
	Group  string               `query:"group" enum:"key,base" default:"key" doc:"base: a row is a base key with all its write shards, time buckets and periods. In a table without write shards a row is always a partition key"`
	Unfold []string             `query:"unfold,explode" maxItems:"8" maxLength:"2048" doc:"With group=base: keys whose rows list their write shards; may be repeated"`
}

type heatOutput struct{ Body struct{ heat.Matrix } }

// getHeat returns the matrix that the parameters ask for.
func (h *Heat) getHeat(ctx context.Context, in *heatInput, now time.Time) (*heatOutput, error) {
	o, err := in.options(now.UTC())
	if err != nil {
		return nil, err
	}
	o.Table = cmp.Or(in.Table, h.options.Table)
	m, changed, err := h.heatMap(ctx, o, now.UTC())
	if err != nil {
		return nil, err
	}
	out := &heatOutput{}
	out.Body.Matrix = m.Matrix()
	if err := h.completeMatrix(ctx, &out.Body.Matrix, changed, now); err != nil {
		return nil, err
	}
	if weight, err := httpapi.WeightOf(out.Body); err != nil || weight > httpapi.MaxAnswer {
		return nil, cmp.Or(err, httpapi.InvalidAt("query.rows", "the matrix is more than 5 MB: ask for fewer rows or columns", in.Rows))
	}
	return out, nil
}

// completeMatrix adds the shard counts and their changes to rows of base keys, and rounds the coverage.
func (h *Heat) completeMatrix(ctx context.Context, matrix *heat.Matrix, changed changes, now time.Time) error {
	for i, share := range matrix.Covered {
		matrix.Covered[i] = math.Round(share*1000) / 1000
	}
	for i := range matrix.Rows {
		row := &matrix.Rows[i]
		if row.Type == "" {
			continue
		}
		base := row.Base().String()
		row.Changes = changed[base]
		if h.options.Shards == nil {
			continue
		}
		entry, err := h.options.Shards.Lookup(ctx, base, now)
		if err != nil {
			return err
		}
		row.Shards = entry.History.Newest()
	}
	return nil
}

// heatMap returns the map for the options, and the changes of shard counts.
func (h *Heat) heatMap(ctx context.Context, options heat.MapOptions, now time.Time) (m *heat.Map, changed changes, err error) {
	newest, err := h.readNewest(ctx, options.From, options.To, now)
	if err != nil {
		return nil, nil, err
	}
	if changed, err = h.changesIn(ctx, options.From, options.To, now); err != nil {
		return nil, nil, err
	}
	options.AsOf, options.Read, options.Changes = newest.asOf, newest.readFrom, changed
	m = heat.NewMap(options)
	for window, err := range h.source.Windows(ctx, options.From, newest.from, options.Step) {
		if err != nil {
			return nil, nil, dynamo.Classify(err)
		}
		m.Add(window.Items)
		m.AddUnread(window)
	}
	for _, window := range newest.complete {
		m.Add(window.Items)
		m.AddUnread(window)
	}
	for _, window := range newest.open {
		m.AddOpen(window.Items)
	}
	return m, changed, nil
}

// options validates the parameters, and returns the map's options without the table. Columns start at multiples of the
// step.
func (in *heatInput) options(now time.Time) (options heat.MapOptions, err error) {
	options = heat.MapOptions{From: in.From.UTC(), To: in.To.UTC(), Rows: in.Rows, Index: in.Index, Filter: in.Filter, ByBase: in.Group == "base", Unfold: in.Unfold}
	if in.To.IsZero() {
		options.To = now
	}
	if in.From.IsZero() {
		options.From = options.To.Add(-defaultHeatSpan)
	}
	if options.Step, err = in.columnLength(options.To.Sub(options.From)); err != nil {
		return options, err
	}
	options.From, options.To = options.From.Truncate(options.Step), options.To.Add(options.Step-1).Truncate(options.Step)
	// The parameters are in these years. A default or rounded start or end may not be.
	if options.From.Year() < 0 || options.To.Year() > 9999 {
		return options, httpapi.InvalidAt("query.to", "a column lies outside the years 0000 to 9999: ask for a time further inside", httpapi.FormatTime(in.To.Time))
	}
	return options, nil
}

// columnLength validates the requested step, or chooses one. It returns the length of the columns for a time range of this
// span.
func (in *heatInput) columnLength(span time.Duration) (time.Duration, error) {
	switch {
	case span <= 0 && in.To.IsZero():
		return 0, httpapi.InvalidAt("query.from", "it must be before now", httpapi.FormatTime(in.From.Time))
	case span <= 0:
		return 0, httpapi.InvalidAt("query.to", "it must be after from", httpapi.FormatTime(in.To.Time))
	case span > maxHeatSpan:
		return 0, httpapi.InvalidAt("query.from", "it must be at most 7 days before to", httpapi.FormatTime(in.From.Time))
	}
	if in.Step == "" {
		return defaultStep(span), nil
	}
	step, fault := in.Step.Within(minStep, maxStep, time.Second)
	if fault != "" {
		return 0, httpapi.InvalidAt("query.step", fault, in.Step)
	}
	if columns := (span + step - 1) / step; columns > maxColumns {
		return 0, httpapi.InvalidAt("query.step", fmt.Sprintf("it makes %d columns, more than %d: ask for a longer step or a shorter time", columns, maxColumns), in.Step)
	}
	return step, nil
}

// defaultStep returns the shortest of steps with which a time range has at most defaultColumns, or else the longest step.
func defaultStep(span time.Duration) time.Duration {
	for _, step := range steps {
		if span <= defaultColumns*step {
			return step
		}
	}
	return slices.Max(steps)
}
