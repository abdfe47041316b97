// Package schedule reads the payload with which a schedule invokes a function that
// otherwise takes a stream's batches:
//
//	if task, ok := schedule.Parse(payload); ok {
//		return h.task(ctx, task) // of {"task":"compact"}: compact
//	}
package schedule

import (
	"bytes"
	"encoding/json"
	"io"
)

// maxPayload bounds a scheduled payload, in bytes. Batches are mostly longer, and
// are told from one at no cost.
const maxPayload = 1024

// Parse returns the task that a scheduled payload names: an object with the one
// member task. It is false for any other payload.
func Parse(payload []byte) (task string, ok bool) {
	if len(payload) > maxPayload {
		return "", false
	}
	var named struct {
		Task *string `json:"task"`
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if d.Decode(&named) != nil || named.Task == nil {
		return "", false
	}
	if _, err := d.Token(); err != io.EOF {
		return "", false // something follows
	}
	return *named.Task, true
}
