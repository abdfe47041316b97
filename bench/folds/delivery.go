package folds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hotshard/hotshard/internal/rollup"
)

// container is a process of the aggregator.
type container struct {
	life    *life
	handler *rollup.Handler
}

func (r *system) startAggregator() (*container, error) {
	life := newLife()
	c := &client{Client: r.DB, dice: r.dice, chances: foldChances, who: "fold", life: life, applied: func() { r.count(applied, 1) }, broken: r.o.broken}
	handler, err := r.Aggregator(c, "HOTSHARD_ROLLUP_RULES="+rules)
	return &container{life, handler}, err
}

// maxOld bounds the batches that a delivery keeps to deliver them again.
const maxOld = 64

// delivery is the aggregator as a mapping invokes it: it hands a batch to some
// container, or does what Lambda may do with it.
type delivery struct {
	*system
	containers *pool[*container]

	mu  sync.Mutex
	old [][]byte
}

func newDelivery(r *system) (*delivery, error) {
	containers, err := newPool(r.startAggregator, func(c *container) *life { return c.life })
	return &delivery{system: r, containers: containers}, err
}

var errInjected = errors.New("failed on purpose")

// Invoke implements eventsource.Handler.
func (d *delivery) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	b, err := parse(payload)
	if err != nil {
		return nil, err
	}
	if len(b.records) == 0 {
		return d.hand(ctx, payload)
	}
	d.count(batches, 1)
	d.count(lost, d.gap.lose(b))
	if len(b.records) == 0 {
		return []byte(`{"state":{}}`), nil
	}
	if d.o.repeat {
		b.repeatLast()
	}
	payload = b.upTo(len(b.records))
	if drop := d.o.drop; drop != "" && bytes.Contains(payload, []byte(drop)) {
		d.dice.count(dropped)
		return []byte(`{"state":{}}`), nil
	}
	old := d.keep(payload)
	f := d.dice.draw(deliveryChances)
	at := d.dice.intN(len(b.records))
	if f == cut && at == 0 {
		f = none // an empty batch is never delivered
	}
	if f != none {
		d.dice.count(f)
	}
	return d.inflict(ctx, f, b, at, old)
}

// inflict delivers a batch with a fault, which may strike at one of its records.
func (d *delivery) inflict(ctx context.Context, f fault, b *batch, at int, old []byte) ([]byte, error) {
	whole := b.upTo(len(b.records))
	switch f {
	case undelivered:
		return nil, errInjected
	case failedAfter:
		return nil, errors.Join(errInjected, second(d.hand(ctx, whole)))
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

func second[T any](_ T, err error) error { return err }

// hand invokes some container. One that dies gives no answer.
func (d *delivery) hand(ctx context.Context, payload []byte) ([]byte, error) {
	c, err := d.containers.pick(d.dice.intN(processes))
	if err != nil {
		return nil, err
	}
	d.count(deliveries, 1)
	ctx, done := c.life.within(ctx)
	defer done()
	out, err := c.handler.Invoke(ctx, slices.Clone(payload))
	if c.life.over() {
		return nil, errors.New("the container died")
	}
	return out, err
}

// keep takes a copy of a batch, in the place of a random one when there are many,
// and returns one of those kept.
func (d *delivery) keep(payload []byte) []byte {
	i, random := d.dice.intN(maxOld), d.dice.intN(maxOld)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.old) < maxOld {
		d.old = append(d.old, slices.Clone(payload))
	} else {
		d.old[i] = slices.Clone(payload)
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
		d.dice.count(late)
	}
	return nil
}
