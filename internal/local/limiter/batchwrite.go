package limiter

import (
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// batchItem is a request in a batch of writes.
type batchItem struct {
	*write
	text jsontext.Value // as the caller wrote it
	cost []charge
	sent bool
}

type batchRequest struct {
	PutRequest    *struct{ Item item }
	DeleteRequest *struct{ Key item }
}

// maxBatch is more than the 25 that the engine takes.
const maxBatch = 100

func (c *call) batchWrite() (*http.Response, error) {
	var body struct {
		RequestItems map[string][]jsontext.Value
	}
	if !understood(c.body, &body) {
		return c.pass()
	}
	items, err := c.batchItems(body.RequestItems)
	if err != nil {
		return c.giveUp(err)
	}
	b := c.admitItems(items)
	if b.taken == nil && b.conflicts == 0 {
		return c.refuse(b.denied)
	}
	c.l.withheld(c.operation, b.throttled, b.denied)
	c.l.collided(c.operation, b.conflicts)
	if b.taken == nil {
		return c.answer(http.StatusOK, map[string]any{"UnprocessedItems": b.held})
	}
	defer b.end(c.l)
	return c.batchSend(b)
}

// batch is a BatchWriteItem of which some items may be held back.
type batch struct {
	items     []*batchItem
	held      map[string][]jsontext.Value
	taken     []charge
	denied    []denial
	throttled int // items
	conflicts int // items
}

// admitItems lets through what no limit and no transaction is in the way of. What
// is in a transaction goes back to the caller too: BatchWriteItem has no exception for it.
func (c *call) admitItems(items []*batchItem) *batch {
	b := &batch{items: items, held: map[string][]jsontext.Value{}}
	for _, i := range items {
		denied := c.l.admit(i.cost)
		switch {
		case denied != nil:
			b.denied = append(b.denied, denied...)
			b.throttled++
		case !c.l.beginWrite(i.item()):
			c.l.settle(c.operation, i.cost, i.cost[:1])
			b.conflicts++
		default:
			i.sent = true
			b.taken = append(b.taken, i.cost...)
			continue
		}
		b.held[i.name] = append(b.held[i.name], i.text)
	}
	return b
}

func (b *batch) end(l *Limiter) {
	for _, i := range b.items {
		if i.sent {
			l.endWrite(i.item())
		}
	}
}

// batchItems makes out a batch's writes and what they cost, in the order of the
// tables' names. It fails with errRefused for a batch that the engine will not take.
func (c *call) batchItems(requests map[string][]jsontext.Value) ([]*batchItem, error) {
	var items []*batchItem
	var writes []*write
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		for _, text := range requests[name] {
			w, err := c.batchWriteOf(name, text)
			if err != nil {
				return nil, err
			}
			items = append(items, &batchItem{write: w, text: text})
			writes = append(writes, w)
		}
	}
	if len(items) == 0 || len(items) > maxBatch {
		return nil, errRefused
	}
	found, err := c.fetch(writes...)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		i.look(found[i.id()])
		i.cost = c.l.cost(i.table, i.hash, i.before.item, i.after.item)
	}
	return items, nil
}

func (c *call) batchWriteOf(table string, text jsontext.Value) (*write, error) {
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
	w, err := c.newWrite(kind, body)
	if w == nil && err == nil {
		err = errRefused
	}
	return w, err
}

// batchSend sends what was admitted, and adds what was held to the
// UnprocessedItems of the answer.
func (c *call) batchSend(b *batch) (*http.Response, error) {
	sent := map[string][]jsontext.Value{}
	for _, i := range b.items {
		if i.sent {
			sent[i.name] = append(sent[i.name], i.text)
		}
	}
	r, err := c.sendPart(sent, len(b.held) > 0)
	if err != nil {
		c.l.settle(c.operation, b.taken, b.taken) // it may have been written
		return nil, err
	}
	var got struct {
		UnprocessedItems map[string][]jsontext.Value
	}
	if !r.ok() || !understood(r.body, &got) {
		c.l.settle(c.operation, b.taken, nil)
		return r.response()
	}
	c.l.settle(c.operation, b.taken, c.batchCharges(b.items, got.UnprocessedItems))
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
func (c *call) sendPart(items any, part bool) (*reply, error) {
	if !part {
		return c.send(nil)
	}
	text, err := encode(items)
	if err != nil {
		return nil, err
	}
	return c.send(object{"RequestItems": text})
}

// batchCharges are those of the items that were sent and not left.
func (c *call) batchCharges(items []*batchItem, left map[string][]jsontext.Value) []charge {
	skip := map[string]bool{}
	for name, texts := range left {
		for _, text := range texts {
			if w, err := c.batchWriteOf(name, text); err == nil {
				skip[w.id()] = true
			}
		}
	}
	var charges []charge
	for _, i := range items {
		if i.sent && !skip[i.id()] {
			charges = append(charges, i.cost...)
		}
	}
	return charges
}
