package limiter

import (
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// batchItem is a request in a batch of writes.
type batchItem struct {
	*write
	text jsontext.Value // as the caller wrote it
	cost []partitions.Charge
	sent bool
}

type batchRequest struct {
	PutRequest    *struct{ Item jsonitem.Item }
	DeleteRequest *struct{ Key jsonitem.Item }
}

// maxBatch is more than the 25 that the engine takes.
const maxBatch = 100

func batchWrite(c *call) (*http.Response, error) {
	var body struct {
		RequestItems map[string][]jsontext.Value
	}
	if !understood(c.body, &body) {
		return c.pass()
	}
	b := &batch{call: c, held: map[string][]jsontext.Value{}}
	if err := b.read(body.RequestItems); err != nil {
		return c.giveUp(err)
	}
	b.admit()
	if b.taken == nil && b.conflicts == 0 {
		return c.refuse(b.denied)
	}
	c.l.withheld(c.operation, b.throttled, b.denied)
	c.l.collided(c.operation, b.conflicts)
	if b.taken == nil {
		return c.answer(http.StatusOK, map[string]any{"UnprocessedItems": b.held})
	}
	defer b.end()
	return b.forward()
}

// batch is a BatchWriteItem of which some items may be held back.
type batch struct {
	*call
	items     []*batchItem
	held      map[string][]jsontext.Value
	taken     []partitions.Charge
	denied    []partitions.Denial
	throttled int // items
	conflicts int // items
}

// admit lets through what no limit and no transaction is in the way of. What
// is in a transaction goes back to the caller too: BatchWriteItem has no exception for it.
func (b *batch) admit() {
	for _, i := range b.items {
		denied := b.l.gate.Admit(i.cost)
		switch {
		case denied != nil:
			b.denied = append(b.denied, denied...)
			b.throttled++
		case !b.l.holds.BeginWrite(i.item()):
			b.l.settle(b.operation, i.cost, i.cost[:1])
			b.conflicts++
		default:
			i.sent = true
			b.taken = append(b.taken, i.cost...)
			continue
		}
		b.held[i.name] = append(b.held[i.name], i.text)
	}
}

func (b *batch) end() {
	for _, i := range b.items {
		if i.sent {
			b.l.holds.EndWrite(i.item())
		}
	}
}

// read makes out a batch's writes and what they cost, in the order of the
// tables' names. It fails with errRefused for a batch that the engine will not take.
func (b *batch) read(requests map[string][]jsontext.Value) error {
	var writes []*write
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		for _, text := range requests[name] {
			w, err := b.write(name, text)
			if err != nil {
				return err
			}
			b.items = append(b.items, &batchItem{write: w, text: text})
			writes = append(writes, w)
		}
	}
	if len(b.items) == 0 || len(b.items) > maxBatch {
		return errRefused
	}
	found, err := b.fetch(writes...)
	if err != nil {
		return err
	}
	for _, i := range b.items {
		i.look(found[i.id()])
		i.cost = i.table.cost(i.hash, i.before.item, i.after.item)
	}
	return nil
}

func (b *batch) write(table string, text jsontext.Value) (*write, error) {
	var request batchRequest
	if !understood(text, &request) {
		return nil, errRefused
	}
	kind, body := "", &writeBody{TableName: table}
	switch {
	case request.PutRequest != nil:
		kind, body.Item = put, request.PutRequest.Item
	case request.DeleteRequest != nil:
		kind, body.Key = remove, request.DeleteRequest.Key
	default:
		return nil, errRefused
	}
	w, err := b.newWrite(kind, body)
	if w == nil && err == nil {
		err = errRefused
	}
	return w, err
}

// forward sends what was admitted, and adds what was held to the
// UnprocessedItems of the answer.
func (b *batch) forward() (*http.Response, error) {
	sent := map[string][]jsontext.Value{}
	for _, i := range b.items {
		if i.sent {
			sent[i.name] = append(sent[i.name], i.text)
		}
	}
	r, err := b.sendPart(sent, len(b.held) > 0)
	if err != nil {
		b.l.settle(b.operation, b.taken, b.taken) // it may have been written
		return nil, err
	}
	var got struct {
		UnprocessedItems map[string][]jsontext.Value
	}
	if !r.ok() || !understood(r.body, &got) {
		b.l.settle(b.operation, b.taken, nil)
		return r.response()
	}
	b.l.settle(b.operation, b.taken, b.charges(got.UnprocessedItems))
	if len(b.held) > 0 {
		for name, left := range got.UnprocessedItems {
			b.held[name] = append(b.held[name], left...)
		}
		if err := r.set("UnprocessedItems", b.held); err != nil {
			return nil, err
		}
	}
	return r.response()
}

// sendPart sends a batch with the RequestItems that are left of it, or as it came.
func (b *batch) sendPart(items any, part bool) (*reply, error) {
	if !part {
		return b.send(nil)
	}
	text, err := encode(items)
	if err != nil {
		return nil, err
	}
	return b.send(object{"RequestItems": text})
}

// charges are those of the items that were sent and not left.
func (b *batch) charges(left map[string][]jsontext.Value) []partitions.Charge {
	skip := map[string]bool{}
	for name, texts := range left {
		for _, text := range texts {
			if w, err := b.write(name, text); err == nil {
				skip[w.id()] = true
			}
		}
	}
	var charges []partitions.Charge
	for _, i := range b.items {
		if i.sent && !skip[i.id()] {
			charges = append(charges, i.cost...)
		}
	}
	return charges
}
