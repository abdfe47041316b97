package count

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/packed"
	"github.com/hotshard/hotshard/internal/base/topk"
)

// The keys of the window's state: its version; in base64 the counts and, if there are any, the counts of indexes; as
// JSON the units of each index; and the last record's sequence number.
const (
	stateVersion = "1"
	versionField = "v"
	windowField  = "window"
	indexesField = "indexes"
	unitsField   = "index_units"
	lastField    = "last"
)

// State returns the window's state for the next delivery. It is deterministic: a batch that is
// redelivered with the same state results in the same state.
func (w *Window) State() map[string]string {
	b := binary.AppendUvarint(nil, uint64(w.Start.UnixMilli()))
	b = binary.AppendUvarint(b, uint64(w.Length.Milliseconds()))
	b = append(b, flag(w.Incomplete))
	b = binary.AppendUvarint(b, w.Records)
	b = packed.AppendText(b, w.first)
	b = w.table.AppendBinary(b)
	state := map[string]string{versionField: stateVersion, windowField: base64.StdEncoding.EncodeToString(b)}
	if w.indexes.Len() > 0 {
		state[indexesField] = base64.StdEncoding.EncodeToString(w.indexes.AppendBinary(nil))
		units, _ := json.Marshal(w.indexUnits) // in order of names
		state[unitsField] = string(units)
	}
	if w.last != "" {
		state[lastField] = w.last
	}
	return state
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// Resume decodes a state. It must be of a window of this length that starts at from or later and ends at to or before.
func Resume(state map[string]string, from, to time.Time, length time.Duration, topK int) (*Window, error) {
	if v := state[versionField]; v != stateVersion {
		return nil, fmt.Errorf("count: window state: version %.20q is not known", v)
	}
	b, err := base64.StdEncoding.DecodeString(state[windowField])
	if err != nil {
		return nil, fmt.Errorf("count: window state: %w", err)
	}
	w := NewWindow(from, length, topK)
	if b, err = w.header(b); err != nil {
		return nil, fmt.Errorf("count: window state: %w", err)
	}
	if w.Start.Before(from) || w.Start.Add(length).After(to) {
		return nil, errors.New("count: window state: it is of another window")
	}
	if w.table, err = topk.Decode(b, limits(topK)); err != nil {
		return nil, fmt.Errorf("count: window state: %w", err)
	}
	if err := w.resumeIndexes(state, indexLimits(topK)); err != nil {
		return nil, fmt.Errorf("count: window state: indexes: %w", err)
	}
	w.last = state[lastField]
	return w, nil
}

// resumeIndexes decodes the counts and the units of indexes. A state has both or neither.
func (w *Window) resumeIndexes(state map[string]string, limits topk.Limits) error {
	if state[indexesField] == "" && state[unitsField] == "" {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(state[indexesField])
	if err != nil {
		return err
	}
	if w.indexes, err = topk.Decode(b, limits); err != nil {
		return err
	}
	return json.Unmarshal([]byte(state[unitsField]), &w.indexUnits)
}

// header decodes the fields before the sketch, and returns the remaining bytes.
func (w *Window) header(b []byte) ([]byte, error) {
	r := packed.Reader{Left: b}
	start, length := r.Uint(), r.Uint()
	w.Incomplete, w.Records, w.first = r.Uint() != 0, r.Uint(), r.Text()
	switch {
	case r.Err != nil:
		return nil, r.Err
	case length != uint64(w.Length.Milliseconds()):
		return nil, errors.New("it is of another window")
	}
	w.Start = time.UnixMilli(int64(start)).UTC()
	return r.Left, nil
}
