package throttle

import (
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// batch is a BatchWriteItem or a BatchGetItem, of which some parts may be throttled.
type batch struct {
	*call
	parts     []*part           // in the order of the tables' names
	keys      map[string]object // of a BatchGetItem: the request's RequestItems by table
	reserved  []partitions.Charge
	denied    []partitions.Denial
	throttled int // parts
	conflicts int // parts
}

// part is one write or one key of a batch.
type part struct {
	item
	text  jsontext.Value // as in the request
	cost  []partitions.Charge
	write *write // nil for a key
	sent  bool
	left  bool // unprocessed, by the limiter or by the engine
}

// writeRequest is a request in a batch of writes.
type writeRequest struct{ PutRequest, DeleteRequest *writeBody }

// content returns the kind and the body of a request, or nil if it has none.
func (r writeRequest) content() (kind string, body *writeBody) {
	if r.PutRequest != nil {
		return put, r.PutRequest
	}
	return remove, r.DeleteRequest
}

func batchWrite(c *call) (*http.Response, error) {
	var body struct {
		RequestItems map[string][]jsontext.Value
	}
	if !decode(c.body, &body) {
		return c.passThrough()
	}
	b := &batch{call: c}
	if err := b.prepareWrites(body.RequestItems); err != nil {
		return c.passOrFail(err)
	}
	return b.run("UnprocessedItems", capacity{})
}

// prepareWrites prepares a batch's writes and fetches their items. It returns errInvalid for a batch that the engine will
// reject.
func (b *batch) prepareWrites(requests map[string][]jsontext.Value) error {
	var writes []*write
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		for _, text := range requests[name] {
			var request writeRequest
			decode(text, &request) // has no content if it can't be decoded
			kind, body := request.content()
			if body == nil {
				return errInvalid
			}
			body.TableName = name
			w, err := b.newWrite(kind, body)
			if err != nil {
				return err
			}
			writes = append(writes, w)
			b.parts = append(b.parts, &part{item: w.item, text: text, write: w})
		}
	}
	if len(writes) == 0 || len(writes) > maxFetch {
		return errInvalid
	}
	err := b.fetchItems(writes...)
	for _, p := range b.parts {
		p.cost = p.write.cost()
	}
	return err
}

func batchGet(c *call) (*http.Response, error) {
	var body struct {
		RequestItems           map[string]object
		ReturnConsumedCapacity string
	}
	if !decode(c.body, &body) {
		return c.passThrough()
	}
	b := &batch{call: c, keys: body.RequestItems}
	if err := b.prepareReads(); err != nil {
		return c.passOrFail(err)
	}
	return b.run("UnprocessedKeys", capacity{body.ReturnConsumedCapacity, totalCapacity})
}

// prepareReads prepares a batch's keys. It returns errInvalid for a batch that the engine will reject.
func (b *batch) prepareReads() error {
	for _, name := range slices.Sorted(maps.Keys(b.keys)) {
		var texts []jsontext.Value
		var consistent bool
		if !decode(b.keys[name]["Keys"], &texts) || b.keys[name]["ConsistentRead"] != nil && !decode(b.keys[name]["ConsistentRead"], &consistent) {
			return errInvalid
		}
		for _, text := range texts {
			var key dynamo.Item
			if !decode(text, &key) {
				return errInvalid
			}
			found, err := b.locate(name, key)
			if err != nil {
				return err
			}
			b.parts = append(b.parts, &part{item: found, text: text, cost: []partitions.Charge{found.at.Reads(leastRead(consistent))}})
		}
	}
	if len(b.parts) == 0 || len(b.parts) > maxFetch {
		return errInvalid
	}
	return nil
}

// run sends the admitted parts and adds the others to the response's member left.
func (b *batch) run(left string, report capacity) (*http.Response, error) {
	b.admit()
	if b.reserved == nil && b.conflicts == 0 {
		return b.throttle(b.denied)
	}
	b.l.countUnprocessed(b.operation, b.throttled, b.denied)
	b.l.countConflicts(b.operation, b.conflicts)
	if b.reserved == nil {
		return b.respond(http.StatusOK, map[string]any{left: b.request(isLeft)})
	}
	defer b.endWrites()
	changed, held := object{}, b.throttled+b.conflicts > 0
	if held {
		changed["RequestItems"] = encode(b.request(isSent))
	}
	r, err := b.forward(changed, report, b.reserved)
	if err != nil {
		return nil, err
	}
	if !r.ok() {
		b.settleCharges(b.reserved, nil)
		return r.response(report)
	}
	b.settleCharges(b.reserved, b.charges(r))
	if held {
		r.setMember(left, b.request(isLeft))
	}
	return r.response(report)
}

// admit withholds parts that are throttled, and writes that conflict with a transaction. BatchWriteItem has
// no exception for a conflict, so such items are left unprocessed, too.
func (b *batch) admit() {
	for _, p := range b.parts {
		denied := b.l.gate.Admit(p.cost)
		switch {
		case denied != nil:
			b.l.countThrottledWrites(denied)
			b.denied = append(b.denied, denied...)
			b.throttled++
		case p.write != nil && !b.l.holds.BeginWrite(p.id()):
			b.settleCharges(p.cost, p.cost[:1]) // a conflict costs the write in the table
			b.conflicts++
		default:
			p.sent = true
			b.reserved = append(b.reserved, p.cost...)
		}
		p.left = !p.sent
	}
}

func (b *batch) endWrites() {
	for _, p := range b.parts {
		if p.sent && p.write != nil {
			b.l.holds.EndWrite(p.id())
		}
	}
}

func isSent(p *part) bool { return p.sent }
func isLeft(p *part) bool { return p.left }

// request returns the request's RequestItems with only some parts.
func (b *batch) request(has func(*part) bool) map[string]any {
	texts, request := map[string][]jsontext.Value{}, map[string]any{}
	for _, p := range b.parts {
		if has(p) {
			texts[p.name] = append(texts[p.name], p.text)
		}
	}
	for name, list := range texts {
		request[name] = list
		if b.keys != nil {
			one := maps.Clone(b.keys[name])
			one["Keys"] = encode(list)
			request[name] = one
		}
	}
	return request
}

// batchAnswer has the members of a batch's response that the limiter reads.
type batchAnswer struct {
	Responses        map[string][]dynamo.Item
	UnprocessedKeys  map[string]struct{ Keys []dynamo.Item }
	UnprocessedItems map[string][]writeRequest
}

// charges returns the charges of the parts that the engine has processed, and marks the others as left.
func (b *batch) charges(r *reply) (charges []partitions.Charge) {
	var got batchAnswer
	if !decode(r.text, &got) {
		got = batchAnswer{}
	}
	left := map[string][]dynamo.Item{}
	for name, rest := range got.UnprocessedKeys {
		left[name] = rest.Keys
	}
	for name, rest := range got.UnprocessedItems {
		for _, request := range rest {
			if kind, body := request.content(); body != nil {
				left[name] = append(left[name], body.source(kind))
			}
		}
	}
	reads := map[string][]*part{}
	for _, p := range b.parts {
		p.left = p.left || slices.ContainsFunc(left[p.name], p.hasKey)
		switch {
		case p.left:
		case p.write == nil:
			reads[p.name] = append(reads[p.name], p)
		default:
			charges = append(charges, p.cost...)
		}
	}
	for name, some := range reads {
		charges = append(charges, b.readCharges(some, got.Responses[name], r)...)
	}
	return charges
}

// hasKey reports whether another item has the same key.
func (i item) hasKey(other dynamo.Item) bool {
	_, whole, _ := i.key.text(other)
	return whole == i.whole
}

// readCharges returns the charges of a table's keys that the engine has read. The engine reports nothing for keys without
// an item.
func (b *batch) readCharges(parts []*part, items []dynamo.Item, r *reply) []partitions.Charge {
	sizes := map[string]int{}
	for _, it := range items {
		if _, whole, ok := parts[0].key.text(it); ok {
			sizes[whole] = dynamo.Size(it)
		}
	}
	request := b.keys[parts[0].name]
	hidden := request["ProjectionExpression"] != nil || request["AttributesToGet"] != nil
	reads := make([]keyedRead, len(parts))
	for i, p := range parts {
		reads[i] = keyedRead{p.cost[0], sizes[p.whole], hidden}
	}
	reported := partitions.Units(len(parts)-len(items)) * reads[0].least.Units
	for _, consumed := range r.consumed() {
		if consumed.TableName == parts[0].name {
			reported += partitions.ToUnits(consumed.CapacityUnits)
		}
	}
	return keyedCharges(reads, reported)
}
