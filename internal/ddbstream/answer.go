package ddbstream

import (
	"encoding/json"
	"fmt"
)

// Answer makes what a function answers to a batch:
//
//	{"state":{"k":"v"},"batchItemFailures":[{"itemIdentifier":"<sequence number>"}]}
//
// The state is handed to the window's next delivery; nil becomes {}, since Lambda
// takes an answer without state for a failure. Failed are sequence numbers:
// Lambda goes back to the lowest and delivers it and all that follow again. An
// empty one would fail the whole batch, and is refused.
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
