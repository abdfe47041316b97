package eventsource

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestParseResponse checks how many records a response completes, and its state.
func TestParseResponse(t *testing.T) {
	records := []Record{{Sequence: "11"}, {Sequence: "12"}, {Sequence: "13"}}
	tests := []struct {
		name     string
		out      string
		windowed bool
		done     int
		state    string
		fails    bool
	}{
		{name: "a text", out: `"what"`, fails: true},
		{name: "nothing", out: ``, done: 3},
		{name: "null", out: `null`, done: 3},
		{name: "null list", out: `{"batchItemFailures":null}`, done: 3},
		{name: "empty list", out: `{"batchItemFailures":[]}`, done: 3},
		{name: "the lowest counts", out: `{"batchItemFailures":[{"itemIdentifier":"13"},{"itemIdentifier":"12"}]}`, done: 1},
		{name: "the first", out: `{"batchItemFailures":[{"itemIdentifier":"11"}]}`, done: 0},
		{name: "unknown item", out: `{"batchItemFailures":[{"itemIdentifier":"99"}]}`, fails: true},
		{name: "empty item", out: `{"batchItemFailures":[{"itemIdentifier":""}]}`, fails: true},
		{name: "null item", out: `{"batchItemFailures":[{"itemIdentifier":null}]}`, fails: true},
		{name: "wrong name", out: `{"batchItemFailures":[{"id":"12"}]}`, fails: true},
		{name: "not JSON", out: `{`, fails: true},
		{name: "state", out: `{"state":{"a":"1"}}`, windowed: true, done: 3, state: `{"a":"1"}`},
		{name: "empty state", out: `{"state":{}}`, windowed: true, done: 3, state: `{}`},
		{name: "no state", out: `{}`, windowed: true, fails: true},
		{name: "no response", out: ``, windowed: true, fails: true},
		{name: "null state", out: `{"state":null}`, windowed: true, fails: true},
		{name: "text for a state", out: `{"state":"x"}`, windowed: true, fails: true},
		{name: "both", out: `{"state":{"a":"1"},"batchItemFailures":[{"itemIdentifier":"13"}]}`,
			windowed: true, done: 2, state: `{"a":"1"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			done, state, err := parseResponse([]byte(tt.out), records, tt.windowed)
			if (err != nil) != tt.fails || done != tt.done || string(state) != tt.state {
				t.Errorf("%d done, state %s, %v; want %d, %s and an error: %t", done, state, err, tt.done, tt.state, tt.fails)
			}
		})
	}
}

// TestWindowedPayload checks the window's fields of a payload without records.
func TestWindowedPayload(t *testing.T) {
	w := windowAt(time.Unix(1700000003, 0), 10*time.Second)
	w.state = []byte(`{"v":"1"}`)
	fields := &windowFields{window: w, shard: "shard-1", arn: "arn:1", final: true, early: true}
	var got events.DynamoDBTimeWindowEvent
	require.NoError(t, json.Unmarshal(appendPayload(nil, nil, fields), &got))
	if got.Records == nil || len(got.Records) != 0 || got.State["v"] != "1" || got.ShardID != "shard-1" ||
		got.EventSourceARN != "arn:1" || !got.IsFinalInvokeForWindow || !got.IsWindowTerminatedEarly ||
		got.Window.Start.Unix() != 1700000000 || got.Window.End.Unix() != 1700000010 {
		t.Errorf("event %+v", got)
	}
}
