package folds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
)

// batch is a delivery's payload, taken apart.
type batch struct {
	fields  map[string]json.RawMessage
	records []json.RawMessage
}

func parse(payload []byte) (*batch, error) {
	b := &batch{}
	err := json.Unmarshal(payload, &b.fields)
	if err == nil {
		err = json.Unmarshal(b.fields["Records"], &b.records)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a batch: %w", err)
	}
	return b, nil
}

// upTo returns the payload of the first n records.
func (b *batch) upTo(n int) []byte {
	fields := map[string]any{}
	for name, value := range b.fields {
		fields[name] = value
	}
	fields["Records"] = b.records[:n]
	payload, err := json.Marshal(fields)
	if err != nil {
		panic(err) // it was JSON before
	}
	return payload
}

// reportFrom adds to a handler's answer that the record at this place failed.
func (b *batch) reportFrom(at int, out []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	type failure struct {
		ItemIdentifier string `json:"itemIdentifier"`
	}
	var answer struct {
		State    json.RawMessage `json:"state"`
		Failures []failure       `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, fmt.Errorf("reading an answer: %w", err)
	}
	answer.Failures = append(answer.Failures, failure{b.sequence(at)})
	return json.Marshal(answer)
}

// sequence returns the sequence number of the record at this place.
func (b *batch) sequence(at int) string {
	var record struct {
		Dynamodb struct{ SequenceNumber string } `json:"dynamodb"`
	}
	if err := json.Unmarshal(b.records[at], &record); err != nil {
		panic(err) // it is of the mapping's making
	}
	return record.Dynamodb.SequenceNumber
}

// repeatLast adds the last record once more, as if it were another.
func (b *batch) repeatLast() {
	at := len(b.records) - 1
	was := b.sequence(at)
	next, ok := new(big.Int).SetString(was, 10)
	if !ok {
		panic("a sequence number is " + was)
	}
	next.Add(next, big.NewInt(1))
	b.records = append(b.records, bytes.Replace(b.records[at], []byte(was), fmt.Appendf(nil, "%0*d", len(was), next), 1))
}
