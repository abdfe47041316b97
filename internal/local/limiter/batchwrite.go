package limiter

import (
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/local/partitions"
)

// batchWrites is a BatchWriteItem of which some items may be held back.
type batchWrites struct {
	*call
	writes    []*batchedWrite
	held      map[string][]jsontext.Value
	taken     []partitions.Charge
	denied    []partitions.Denial
	throttled int // items
	conflicts int // items
}

// batchedWrite is a request in a batch of writes.
type batchedWrite struct {
	*write
	text jsontext.Value // as the caller wrote it
	cost []partitions.Charge
	sent bool
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
	b := &batchWrites{call: c, held: map[string][]jsontext.Value{}}
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
	return b.do()
}

// read makes out a batch's writes and the items before them, in the order of the tables'
// names. It fails with errRefused for a batch that the engine will not take.
func (b *batchWrites) read(requests map[string][]jsontext.Value) error {
	var writes []*write
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		for _, text := range requests[name] {
			w, err := b.write(name, text)
			if err != nil {
				return err
			}
			b.writes = append(b.writes, &batchedWrite{write: w, text: text})
			writes = append(writes, w)
		}
	}
	if len(writes) == 0 || len(writes) > maxBatch {
		return errRefused
	}
	found, err := b.fetch(writes...)
	if err != nil {
		return err
	}
	for _, w := range b.writes {
		w.look(found[w.id()])
		w.cost = w.write.cost()
	}
	return nil
}

func (b *batchWrites) write(table string, text jsontext.Value) (*write, error) {
	var request struct{ PutRequest, DeleteRequest *writeBody }
	if !understood(text, &request) {
		return nil, errRefused
	}
	kind, body := put, request.PutRequest
	if body == nil {
		kind, body = remove, request.DeleteRequest
	}
	if body == nil {
		return nil, errRefused
	}
	body.TableName = table
	return b.newWrite(kind, body)
}

// admit lets through what no limit and no transaction is in the way of. What
// is in a transaction goes back to the caller too: BatchWriteItem has no exception for it.
func (b *batchWrites) admit() {
	for _, w := range b.writes {
		denied := b.l.gate.Admit(w.cost)
		switch {
		case denied != nil:
			b.denied = append(b.denied, denied...)
			b.throttled++
		case !b.l.holds.BeginWrite(w.held()):
			b.l.settle(b.operation, w.cost, w.cost[:1])
			b.conflicts++
		default:
			w.sent = true
			b.taken = append(b.taken, w.cost...)
			continue
		}
		b.held[w.name] = append(b.held[w.name], w.text)
	}
}

func (b *batchWrites) end() {
	for _, w := range b.writes {
		if w.sent {
			b.l.holds.EndWrite(w.held())
		}
	}
}

// do sends what was admitted, and adds what was held to the UnprocessedItems of the answer.
func (b *batchWrites) do() (*http.Response, error) {
	changed := object{}
	if len(b.held) > 0 {
		text, err := encode(b.sent())
		if err != nil {
			return nil, err
		}
		changed["RequestItems"] = text
	}
	r, err := b.forward(changed, capacity{}, b.taken)
	if err != nil {
		return nil, err
	}
	var left struct {
		UnprocessedItems map[string][]jsontext.Value
	}
	if !r.ok() || !understood(r.body, &left) {
		b.l.settle(b.operation, b.taken, nil)
		return r.response(capacity{})
	}
	b.l.settle(b.operation, b.taken, b.charges(left.UnprocessedItems))
	if len(b.held) > 0 {
		for name, texts := range left.UnprocessedItems {
			b.held[name] = append(b.held[name], texts...)
		}
		if err := r.set("UnprocessedItems", b.held); err != nil {
			return nil, err
		}
	}
	return r.response(capacity{})
}

// sent are the texts of the writes that were let through, by table.
func (b *batchWrites) sent() map[string][]jsontext.Value {
	texts := map[string][]jsontext.Value{}
	for _, w := range b.writes {
		if w.sent {
			texts[w.name] = append(texts[w.name], w.text)
		}
	}
	return texts
}

// charges are those of the items that were sent and not left.
func (b *batchWrites) charges(left map[string][]jsontext.Value) []partitions.Charge {
	skip := map[string]bool{}
	for name, texts := range left {
		for _, text := range texts {
			if w, err := b.write(name, text); err == nil {
				skip[w.id()] = true
			}
		}
	}
	var charges []partitions.Charge
	for _, w := range b.writes {
		if w.sent && !skip[w.id()] {
			charges = append(charges, w.cost...)
		}
	}
	return charges
}
