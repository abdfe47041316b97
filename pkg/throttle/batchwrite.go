package throttle

import (
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// batchWrites is a BatchWriteItem, of which some items may be throttled.
type batchWrites struct {
	*call
	writes    []*batchedWrite
	tables    batchTables
	held      map[string][]jsontext.Value
	reserved  []partitions.Charge
	denied    []partitions.Denial
	throttled int // items
	conflicts int // items
}

// batchedWrite is a request in a batch of writes.
type batchedWrite struct {
	*write
	text jsontext.Value // as in the request
	cost []partitions.Charge
	sent bool
}

// maxBatch is more than the engine's limit of 25.
const maxBatch = 100

func batchWrite(c *call) (*http.Response, error) {
	var body struct {
		RequestItems map[string][]jsontext.Value
	}
	if !decode(c.body, &body) {
		return c.passThrough()
	}
	b := &batchWrites{call: c, tables: batchTables{}, held: map[string][]jsontext.Value{}}
	if err := b.prepareWrites(body.RequestItems); err != nil {
		return c.passOrFail(err)
	}
	b.admit()
	if b.reserved == nil && b.conflicts == 0 {
		return c.throttle(b.denied)
	}
	c.l.countUnprocessed(c.operation, b.throttled, b.denied)
	c.l.countConflicts(c.operation, b.conflicts)
	if b.reserved == nil {
		return c.respond(http.StatusOK, map[string]any{"UnprocessedItems": b.held})
	}
	defer b.endWrites()
	return b.sendAdmitted()
}

// prepareWrites prepares a batch's writes and fetches their items, in the order of the tables' names. It
// returns errInvalid for a batch that the engine will reject.
func (b *batchWrites) prepareWrites(requests map[string][]jsontext.Value) error {
	var writes []*write
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		for _, text := range requests[name] {
			w, err := b.parseWrite(name, text)
			if err != nil {
				return err
			}
			b.writes, b.tables[name] = append(b.writes, &batchedWrite{write: w, text: text}), w.table
			writes = append(writes, w)
		}
	}
	if len(writes) == 0 || len(writes) > maxBatch {
		return errInvalid
	}
	err := b.fetchItems(writes...)
	for _, w := range b.writes {
		w.cost = w.write.cost()
	}
	return err
}

func (b *batchWrites) parseWrite(table string, text jsontext.Value) (*write, error) {
	kind, body, ok := batchedBody(text)
	if !ok {
		return nil, errInvalid
	}
	body.TableName = table
	return b.newWrite(kind, body)
}

// batchedBody returns the kind and the body of a request in a batch; ok is false if it has none.
func batchedBody(text jsontext.Value) (kind string, body *writeBody, ok bool) {
	var request struct{ PutRequest, DeleteRequest *writeBody }
	if !decode(text, &request) {
		return "", nil, false
	}
	if request.PutRequest != nil {
		return put, request.PutRequest, true
	}
	return remove, request.DeleteRequest, request.DeleteRequest != nil
}

// admit withholds writes that are throttled or conflict with a transaction. BatchWriteItem has
// no exception for a conflict, so such items are left unprocessed, too.
func (b *batchWrites) admit() {
	for _, w := range b.writes {
		denied := b.l.gate.Admit(w.cost)
		switch {
		case denied != nil:
			b.l.countThrottledWrites(denied)
			b.denied = append(b.denied, denied...)
			b.throttled++
		case !b.l.holds.BeginWrite(w.id()):
			b.settleCharges(w.cost, w.cost[:1]) // a conflict costs the write in the table
			b.conflicts++
		default:
			w.sent = true
			b.reserved = append(b.reserved, w.cost...)
			continue
		}
		b.held[w.name] = append(b.held[w.name], w.text)
	}
}

func (b *batchWrites) endWrites() {
	for _, w := range b.writes {
		if w.sent {
			b.l.holds.EndWrite(w.id())
		}
	}
}

// sendAdmitted sends the admitted writes and adds the others to the response's UnprocessedItems.
func (b *batchWrites) sendAdmitted() (*http.Response, error) {
	changed := object{}
	if len(b.held) > 0 {
		changed["RequestItems"] = encode(b.sent())
	}
	r, err := b.forward(changed, capacity{}, b.reserved)
	if err != nil {
		return nil, err
	}
	if !r.ok() {
		b.settleCharges(b.reserved, nil)
		return r.response(capacity{})
	}
	var got struct {
		UnprocessedItems map[string][]jsontext.Value
	}
	if !decode(r.text, &got) {
		got.UnprocessedItems = nil
	}
	b.settleCharges(b.reserved, b.charges(got.UnprocessedItems))
	if len(b.held) > 0 {
		left := mergeHeld(b.tables, got.UnprocessedItems, b.held, func(_ string, left, held []jsontext.Value) []jsontext.Value {
			return append(held, left...)
		})
		r.setMember("UnprocessedItems", left)
	}
	return r.response(capacity{})
}

// sent returns the texts of the admitted writes by table.
func (b *batchWrites) sent() map[string][]jsontext.Value {
	texts := map[string][]jsontext.Value{}
	for _, w := range b.writes {
		if w.sent {
			texts[w.name] = append(texts[w.name], w.text)
		}
	}
	return texts
}

// charges returns the charges of the items that were sent and processed.
func (b *batchWrites) charges(left map[string][]jsontext.Value) []partitions.Charge {
	skip := map[partitions.ItemID]bool{}
	for name, texts := range left {
		t := b.tables.find(name)
		for _, text := range texts {
			if kind, body, ok := batchedBody(text); ok && t != nil {
				_, whole, _ := t.key.text(body.source(kind))
				skip[partitions.ItemID{Space: t.Space, Key: whole}] = true
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
