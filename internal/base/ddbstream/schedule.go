package ddbstream

import (
	"bytes"
	"encoding/json"
	"io"
)

// maxPayload bounds a scheduled payload, in bytes. Most batches are longer and are not parsed.
const maxPayload = 1024

// ParseTask returns the task of a scheduled payload, an object with the one member task. ok is
// false for any other payload.
func ParseTask(payload []byte) (task string, ok bool) {
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
		return "", false // trailing data
	}
	return *named.Task, true
}
