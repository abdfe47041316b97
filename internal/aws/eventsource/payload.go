package eventsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxPayload = 6 << 20 // bytes, as Lambda's

	// maxState bounds a window's state, so that it fits into its checkpoint. Lambda's limit is 1 MB.
	maxState = 300_000
)

// emptyState is the state with which a window begins.
const emptyState = "{}"

// window is an open tumbling window.
type window struct {
	start, end time.Time
	state      []byte // JSON object, as the handler returned it
}

// windowAt returns the window that t falls into. Windows begin at multiples of width, in whole seconds, since 1970.
func windowAt(t time.Time, width time.Duration) *window {
	seconds := max(1, int64(width/time.Second))
	start := time.Unix(t.Unix()/seconds*seconds, 0).UTC()
	return &window{start: start, end: start.Add(width), state: []byte(emptyState)}
}

// windowFields are the fields of a windowed event besides its records.
type windowFields struct {
	*window
	shard, arn   string
	final, early bool
}

// appendPayload appends the event that Lambda would deliver. Without a tumbling window, windowed is nil.
func appendPayload(payload []byte, records []Record, windowed *windowFields) []byte {
	payload = append(payload, `{"Records":[`...)
	for i, e := range records {
		if i > 0 {
			payload = append(payload, ',')
		}
		payload = append(payload, e.JSON...)
	}
	payload = append(payload, ']')
	if windowed != nil {
		payload = windowed.append(payload)
	}
	return append(payload, '}')
}

func (w *windowFields) append(payload []byte) []byte {
	payload = w.start.AppendFormat(append(payload, `,"window":{"start":"`...), time.RFC3339)
	payload = w.end.AppendFormat(append(payload, `","end":"`...), time.RFC3339)
	payload = append(append(payload, `"},"state":`...), w.state...)
	payload = appendString(append(payload, `,"shardId":`...), w.shard)
	payload = appendString(append(payload, `,"eventSourceARN":`...), w.arn)
	return fmt.Appendf(payload, `,"isFinalInvokeForWindow":%t,"isWindowTerminatedEarly":%t`, w.final, w.early)
}

// response is the handler's response.
type response struct {
	State             json.RawMessage `json:"state"`
	BatchItemFailures []struct {
		ItemIdentifier *string `json:"itemIdentifier"`
	} `json:"batchItemFailures"`
}

// parseResponse parses the handler's response to records. done is the number of leading records that were processed.
// state is the window's, if the event is windowed. An error means that the whole batch failed.
func parseResponse(out []byte, records []Record, windowed bool) (done int, state []byte, err error) {
	var parsed response
	if len(out) > 0 {
		if err := json.Unmarshal(out, &parsed); err != nil {
			return 0, nil, fmt.Errorf("the handler's response is not valid JSON: %w", err)
		}
	}
	if windowed {
		if len(parsed.State) == 0 || parsed.State[0] != '{' {
			return 0, nil, errors.New("the handler's response has no state, which a tumbling window needs: return an object as state")
		}
		state = parsed.State
	}
	if done, err = parsed.countBeforeFailure(records); err != nil {
		return 0, nil, err
	}
	return done, state, nil
}

// countBeforeFailure returns the number of records before the first one that the response reports as failed.
func (r *response) countBeforeFailure(records []Record) (int, error) {
	done := len(records)
	for _, f := range r.BatchItemFailures {
		if f.ItemIdentifier == nil || *f.ItemIdentifier == "" {
			return 0, errors.New("the handler's response has a batch item failure without an itemIdentifier")
		}
		failed := slices.IndexFunc(records, func(r Record) bool { return r.Sequence == *f.ItemIdentifier })
		if failed < 0 {
			return 0, fmt.Errorf("the handler's response names the itemIdentifier %q, which is not in the batch", *f.ItemIdentifier)
		}
		done = min(done, failed)
	}
	return done, nil
}

// appendString appends s as a JSON string, with U+FFFD for bytes that are not UTF-8, as in
// Lambda. Only such bytes make AppendQuote return an error.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
