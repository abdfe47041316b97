package ddbstream

import (
	"encoding/json"
	"fmt"
)

// Answer returns a function's response to a batch:
//
//	{"state":{"k":"v"},"batchItemFailures":[{"itemIdentifier":"<sequence number>"}]}
//
// Lambda passes the state to the window's next invocation. A nil state becomes {}, because
// Lambda treats a response without state as a failure. Lambda retries from the lowest failed
// sequence number. An empty sequence number is an error, because it would fail the whole batch.
func Answer(state map[string]string, failed ...string) ([]byte, error) {
	type failure struct {
		Item string `json:"itemIdentifier"`
	}
	answer := struct {
		State    map[string]string `json:"state"`
		Failures []failure         `json:"batchItemFailures"`
	}{state, make([]failure, len(failed))}
	if state == nil {
		answer.State = map[string]string{}
	}
	for i, sequence := range failed {
		if sequence == "" {
			return nil, fmt.Errorf("ddbstream: answer: failed record %d has no sequence number", i)
		}
		answer.Failures[i].Item = sequence
	}
	return json.Marshal(answer)
}
