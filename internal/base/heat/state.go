package heat

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// The window's state has stateVersion under versionField, and under windowField, in base64, what codeFields encodes.
const (
	stateVersion = "2"
	versionField = "v"
	windowField  = "window"
)

// State returns the window's state for the next delivery. It is deterministic: a batch that is
// redelivered with the same state results in the same state.
func (w *WindowCounter) State() map[string]string {
	table, indexes := string(w.table.AppendBinary(nil)), string(w.indexes.AppendBinary(nil))
	text, _ := json.Marshal(w.indexUnits) // in order of names
	units := string(text)
	var c schema.Codec
	w.codeFields(&c, &table, &indexes, &units)
	return map[string]string{versionField: stateVersion, windowField: base64.StdEncoding.EncodeToString(c.Bytes)}
}

// codeFields encodes or decodes the window's fields. table and indexes are encoded sketches, and units is the JSON of
// indexUnits.
func (w *WindowCounter) codeFields(c *schema.Codec, table, indexes, units *string) {
	start, length, incomplete := w.Start.UnixMilli(), w.Length.Milliseconds(), int64(0)
	if w.Incomplete {
		incomplete = 1
	}
	c.Int(&start)
	c.Int(&length)
	c.Int(&incomplete)
	c.Uint(&w.Records)
	for _, text := range []*string{&w.first, &w.last, table, indexes, units} {
		c.Text(text)
	}
	w.Start, w.Length, w.Incomplete = time.UnixMilli(start).UTC(), time.Duration(length)*time.Millisecond, incomplete != 0
}

// ResumeWindow decodes a state. It returns an error unless the window has this length and lies between from and to.
func ResumeWindow(state map[string]string, from, to time.Time, length time.Duration, topK int) (*WindowCounter, error) {
	if v := state[versionField]; v != stateVersion {
		return nil, fmt.Errorf("heat: window state: it has version %.20q, and this release reads only %s", v, stateVersion)
	}
	w, err := decodeWindow(state[windowField], topK)
	if err == nil && (w.Length != length || w.Start.Before(from) || w.Start.Add(length).After(to)) {
		err = fmt.Errorf("it counts another window, of %v from %s", w.Length, w.Start.Format(time.RFC3339))
	}
	if err != nil {
		return nil, fmt.Errorf("heat: window state: %w", err)
	}
	return w, nil
}

// decodeWindow decodes the text under windowField.
func decodeWindow(text string, topK int) (*WindowCounter, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	w, c := NewWindowCounter(time.Time{}, 0, topK), schema.Codec{From: &schema.Unpacker{Left: b}}
	var table, indexes, units string
	w.codeFields(&c, &table, &indexes, &units)
	if c.From.Err != nil {
		return nil, c.From.Err
	}
	if w.table, err = ddbstream.DecodeSketch([]byte(table), tableLimits(topK)); err != nil {
		return nil, err
	}
	if w.indexes, err = ddbstream.DecodeSketch([]byte(indexes), indexLimits(topK)); err != nil {
		return nil, fmt.Errorf("indexes: %w", err)
	}
	return w, json.Unmarshal([]byte(units), &w.indexUnits)
}
