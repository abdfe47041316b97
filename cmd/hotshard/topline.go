package main

import (
	"encoding/json"
	"math"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/tool/live"
)

// topLine is a window as a line of JSON.
type topLine struct {
	Start    string   `json:"start"`
	Window   string   `json:"window"` // the window's length
	Keys     []topKey `json:"keys"`
	Coverage float64  `json:"coverage"` // share of the window that was read, 0 to 1
}

// topKey is a partition key of a window.
type topKey struct {
	Table  string  `json:"table,omitempty"` // the key's table, if it is not viewOptions.Table
	Key    string  `json:"key"`
	Index  string  `json:"index,omitempty"`
	Status string  `json:"status"`                 // in this window
	Rate   float64 `json:"write_units_per_second"` // a lower bound
	Error  float64 `json:"error"`                  // the true rate is at most this much higher
	Share  float64 `json:"share"`                  // of a partition's limit; 1 is all of it
}

// lineKeys is the maximum number of keys of a line.
const lineKeys = 20

// jsonLine returns a window as a line of JSON, with the first lineKeys of its rows. Rows begin with the heaviest key.
func (o *viewOptions) jsonLine(window heat.Window, rows []heat.KeyHeat) (string, error) {
	line := topLine{Start: httpapi.FormatTime(window.Start), Window: display.Duration(live.Window).String(), Keys: []topKey{}, Coverage: heat.Hundredths(coverage(window))}
	for _, row := range rows[:min(len(rows), lineKeys)] {
		key := topKey{
			Key: row.Key, Index: row.Index, Status: row.Worst.String(), Rate: heat.Hundredths(row.WriteUnitsPerSecond),
			Error: math.Ceil(row.Error*100) / 100, Share: math.Floor(1e4*row.WriteUnitsPerSecond/row.Limit) / 1e4,
		}
		if o.Hash {
			key.Key = display.Pseudonym(row.Key)
		}
		if table := row.TableName(); table != o.Table {
			key.Table = table
		}
		line.Keys = append(line.Keys, key)
	}
	text, err := json.Marshal(line)
	return string(text) + "\n", err
}
