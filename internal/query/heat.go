package query

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/heat/windows"
)

// maxHotRows is how many of the hottest keys are told apart while a day's heat items
// are gone through, each about 300 bytes.
const maxHotRows = 10_000

// maxFull is how many windows are read in full for one answer.
const maxFull = 4

// hottest returns the hottest keys of the windows that start at from or later and before
// to. As many as highlights have are told by these, and those that are hot by all that was
// counted in their hottest windows. More are told by full items.
func (s *Service) hottest(ctx context.Context, from, to time.Time, limit int) ([]heat.Row, error) {
	reader := windows.Reader{Client: s.client, Table: s.settings.HeatTable}
	all := reader.Highlights(ctx, from, to)
	if limit > heat.MaxHighlights {
		all = reader.All(ctx, from, to)
	}
	rows, err := merged(all)
	if err != nil {
		return nil, err
	}
	if rows = rows[:min(limit, len(rows))]; limit > heat.MaxHighlights {
		return rows, nil
	}
	for _, start := range hotWindows(rows) {
		for window, err := range reader.All(ctx, start, start.Add(time.Millisecond)) {
			if err := fault(window, err); err != nil {
				return nil, err
			}
			heat.Refine(rows, window.Items)
		}
	}
	return rows, nil
}

// hotWindows are the starts of the hottest windows of hot keys, the hottest first.
func hotWindows(rows []heat.Row) (starts []time.Time) {
	for _, row := range rows {
		if row.Status >= heat.Hot && len(starts) < maxFull && !slices.ContainsFunc(starts, row.Start.Equal) {
			starts = append(starts, row.Start)
		}
	}
	return starts
}

// merged merges windows. A day of a table with many stream shards is more than fits into
// memory, so that is done window by window.
func merged(all iter.Seq2[heat.Window, error]) ([]heat.Row, error) {
	merger := heat.Merger{Max: maxHotRows}
	for window, err := range all {
		if err := fault(window, err); err != nil {
			return nil, err
		}
		merger.Add(window.Items)
	}
	return merger.Rows(), nil
}

// fault is why a window can't be told: it can't be read, or an item of it.
func fault(w heat.Window, err error) error {
	if err == nil && len(w.Unreadable) > 0 {
		return w.Unreadable[0]
	}
	return dynamo.Kind(err)
}
