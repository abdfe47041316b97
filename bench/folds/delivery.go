package folds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
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
	return b, err
}

// upTo returns the payload of the first n records.
func (b *batch) upTo(n int) []byte {
	fields := maps.Clone(b.fields)
	fields["Records"] = mustJSON(b.records[:n])
	return mustJSON(fields)
}

// mustJSON is for plain values.
func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// record is what the harness looks at of one.
type record struct {
	EventName string
	Dynamodb  struct {
		SequenceNumber string
		Keys           map[string]struct{ S string }
	}
}

func (b *batch) record(at int) (r record) {
	if err := json.Unmarshal(b.records[at], &r); err != nil {
		panic(err) // it is of the mapping's making
	}
	return r
}

// reportFrom adds to a handler's answer that the record at this place failed.
func (b *batch) reportFrom(at int, out []byte, err error) ([]byte, error) {
	type failure struct {
		ItemIdentifier string `json:"itemIdentifier"`
	}
	var answer struct {
		State    json.RawMessage `json:"state"`
		Failures []failure       `json:"batchItemFailures"`
	}
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	answer.Failures = append(answer.Failures, failure{b.record(at).Dynamodb.SequenceNumber})
	if err != nil {
		return nil, err
	}
	return mustJSON(answer), nil
}

const (
	maxOld  = 64 // batches that a delivery keeps to deliver them again
	batches = "folds: batches of the mappings"
)

// delivery is the aggregator as a mapping invokes it: it hands a batch to some
// container, or does what Lambda may do with it.
type delivery struct {
	*system
	name       string // of the mapping
	of         *stream
	containers pool

	mu  sync.Mutex
	old [][]byte
}

// Invoke implements eventsource.Handler.
func (d *delivery) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	b, err := parse(payload)
	if err != nil {
		return nil, fmt.Errorf("reading a batch: %w", err)
	}
	if len(b.records) == 0 {
		return d.hand(ctx, payload)
	}
	d.count(batches, 1)
	d.count(recordsLost, d.gap.lose(d, b))
	if d.o.deliver != nil {
		d.o.deliver(b)
	}
	if len(b.records) == 0 {
		return []byte(`{"state":{}}`), nil
	}
	old := d.keep(b.upTo(len(b.records)))
	f := d.dice.draw(deliveryChances)
	at := d.dice.intN(len(b.records))
	if f == cut && at == 0 {
		f = none // an empty batch is never delivered
	}
	if f != none {
		d.inject(f)
	}
	return d.inflict(ctx, f, b, at, old)
}

// inflict delivers a batch with a fault, which may strike at one of its records.
func (d *delivery) inflict(ctx context.Context, f fault, b *batch, at int, old []byte) ([]byte, error) {
	whole := b.upTo(len(b.records))
	switch f {
	case undelivered:
		return nil, errors.New("failed on purpose")
	case failedAfter:
		_, err := d.hand(ctx, whole)
		return nil, errors.Join(errors.New("failed on purpose"), err)
	case twice:
		_, _ = d.hand(ctx, whole) // the second answer counts
	case cut:
		out, err := d.hand(ctx, b.upTo(at))
		return b.reportFrom(at, out, err)
	case reportedDone:
		out, err := d.hand(ctx, whole)
		return b.reportFrom(at, out, err)
	case late:
		_, _ = d.hand(ctx, old) // nobody waits for its answer
	}
	return d.hand(ctx, whole)
}

// hand invokes some container. One that dies gives no answer.
func (d *delivery) hand(ctx context.Context, payload []byte) ([]byte, error) {
	c, err := d.containers.pick(d.dice)
	if err != nil {
		return nil, err
	}
	d.count("folds: deliveries to the aggregator", 1)
	ctx, done := c.within(ctx)
	defer done()
	out, err := c.handler.Invoke(ctx, slices.Clone(payload))
	if c.dead() {
		return nil, errors.New("the container died")
	}
	return out, err
}

// keep takes a batch, in the place of a random one when there are many, and returns
// one of those kept.
func (d *delivery) keep(payload []byte) []byte {
	i, random := d.dice.intN(maxOld), d.dice.intN(maxOld)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.old) < maxOld {
		d.old = append(d.old, payload)
	} else {
		d.old[i] = payload
	}
	return d.old[random%len(d.old)]
}

// again delivers all batches that were kept, to containers that know nothing, the
// oldest last.
func (d *delivery) again(ctx context.Context) error {
	for _, payload := range slices.Backward(d.old) {
		c, err := d.startAggregator()
		if err != nil {
			return err
		}
		if _, err := c.handler.Invoke(ctx, slices.Clone(payload)); err != nil {
			return fmt.Errorf("delivering an old batch: %w", err)
		}
		d.inject(late)
	}
	return nil
}
