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
	parts     []*part             // in the order of the tables' names
	keys      map[string]object   // a BatchGetItem's RequestItems, by table; nil for a BatchWriteItem
	reserved  []partitions.Charge // of the parts that are sent
	denied    []partitions.Denial // of the throttled parts
	throttled int                 // number of throttled parts
	conflicts int                 // number of parts in conflict with a transaction
}

// part is one write or one key of a batch.
type part struct {
	item
	text        jsontext.Value // in the request
	cost        []partitions.Charge
	write       *write // nil for a key
	sent        bool   // to the engine
	unprocessed bool   // by the limiter or by the engine
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
	return b.admitAndSend("UnprocessedItems", capacityReport{})
}

// prepareWrites prepares a batch's writes and fetches their items. It returns errInvalid for a batch that the engine
// will reject.
func (b *batch) prepareWrites(requests map[string][]jsontext.Value) error {
	var writes []*write
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		for _, text := range requests[name] {
			var request writeRequest
			decode(text, &request) // a request that can't be decoded has no content
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
	err := b.fetchBefore(writes...)
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
	return b.admitAndSend("UnprocessedKeys", capacityReport{body.ReturnConsumedCapacity, totalCapacity})
}

// prepareReads prepares a batch's keys. It returns errInvalid for a batch that the engine will reject.
func (b *batch) prepareReads() error {
	for _, name := range slices.Sorted(maps.Keys(b.keys)) {
		var texts []jsontext.Value
		if !decode(b.keys[name]["Keys"], &texts) {
			return errInvalid
		}
		var consistent bool
		if text := b.keys[name]["ConsistentRead"]; text != nil && !decode(text, &consistent) {
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
			b.parts = append(b.parts, &part{item: found, text: text, cost: []partitions.Charge{found.place.Reads(leastRead(consistent))}})
		}
	}
	if len(b.parts) == 0 || len(b.parts) > maxFetch {
		return errInvalid
	}
	return nil
}

// admitAndSend sends the admitted parts, if there are any. It adds the other parts to the response's member named by
// unprocessed: UnprocessedItems or UnprocessedKeys. If all parts are throttled, the response is an exception.
func (b *batch) admitAndSend(unprocessed string, report capacityReport) (*http.Response, error) {
	b.admit()
	if b.throttled == len(b.parts) {
		return b.throttle(b.denied)
	}
	b.l.countThrottled(b.throttled, b.denied)
	withheld := b.throttled + b.conflicts
	if withheld == len(b.parts) {
		return b.respond(http.StatusOK, map[string]any{unprocessed: b.requestItems(isUnprocessed)})
	}
	changed := object{}
	if withheld > 0 {
		changed["RequestItems"] = encode(b.requestItems(isSent))
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
	if withheld > 0 {
		r.setMember(unprocessed, b.requestItems(isUnprocessed))
	}
	return r.response(report)
}

// admit decides which parts are sent. Throttled parts are not sent, nor are writes that conflict with a transaction:
// BatchWriteItem has no exception for a conflict.
func (b *batch) admit() {
	for _, p := range b.parts {
		denied := b.l.gate.Admit(p.cost)
		switch {
		case denied != nil:
			b.l.countThrottledWrites(denied)
			b.denied = append(b.denied, denied...)
			b.throttled++
		case p.write != nil && b.l.holds.Blocked(p.id()) != nil:
			b.settleCharges(p.cost, p.cost[:1]) // a conflict costs the write in the table
			b.conflicts++
		default:
			p.sent = true
			b.reserved = append(b.reserved, p.cost...)
		}
		p.unprocessed = !p.sent
	}
}

func isSent(p *part) bool        { return p.sent }
func isUnprocessed(p *part) bool { return p.unprocessed }

// requestItems returns the request's RequestItems with only the parts for which selected returns true.
func (b *batch) requestItems(selected func(*part) bool) map[string]any {
	texts, tables := map[string][]jsontext.Value{}, map[string]any{}
	for _, p := range b.parts {
		if selected(p) {
			texts[p.name] = append(texts[p.name], p.text)
		}
	}
	for name, list := range texts {
		tables[name] = list
		if b.keys != nil {
			table := maps.Clone(b.keys[name])
			table["Keys"] = encode(list)
			tables[name] = table
		}
	}
	return tables
}

// batchResponse has the members of a batch's response that the limiter reads.
type batchResponse struct {
	Responses        map[string][]dynamo.Item
	UnprocessedKeys  map[string]struct{ Keys []dynamo.Item }
	UnprocessedItems map[string][]writeRequest
}

// unprocessed returns the keys that the engine has not processed, by table.
func (r *batchResponse) unprocessed() map[string][]dynamo.Item {
	keys := map[string][]dynamo.Item{}
	for table, left := range r.UnprocessedKeys {
		keys[table] = left.Keys
	}
	for table, requests := range r.UnprocessedItems {
		for _, request := range requests {
			if kind, body := request.content(); body != nil {
				keys[table] = append(keys[table], body.source(kind))
			}
		}
	}
	return keys
}

// charges returns the charges of the parts that the engine has processed, and marks the others as unprocessed.
func (b *batch) charges(r *reply) (charges []partitions.Charge) {
	var got batchResponse
	if !decode(r.text, &got) {
		got = batchResponse{} // nothing counts as unprocessed or found
	}
	unprocessed, reads := got.unprocessed(), map[string][]*part{}
	for _, p := range b.parts {
		p.unprocessed = !p.sent || slices.ContainsFunc(unprocessed[p.name], p.hasKey)
		switch {
		case p.unprocessed:
		case p.write == nil:
			reads[p.name] = append(reads[p.name], p)
		default:
			charges = append(charges, p.cost...)
		}
	}
	for table, parts := range reads {
		charges = append(charges, b.readCharges(parts, got.Responses[table], r)...)
	}
	return charges
}

// hasKey reports whether another item has the same key.
func (i item) hasKey(other dynamo.Item) bool {
	primaryKey, _ := i.key.primaryKey(other)
	return primaryKey == i.primaryKey
}

// readCharges returns the charges of one table's processed keys. items has the items that the engine found. DynamoDB
// Local reports no capacity for keys without an item, so their least cost is added.
func (b *batch) readCharges(parts []*part, items []dynamo.Item, r *reply) []partitions.Charge {
	sizes := map[string]int{}
	for _, it := range items {
		if primaryKey, ok := parts[0].key.primaryKey(it); ok {
			sizes[primaryKey] = dynamo.Size(it)
		}
	}
	request := b.keys[parts[0].name]
	hidden := request["ProjectionExpression"] != nil || request["AttributesToGet"] != nil // the items' sizes
	reads := make([]keyedRead, len(parts))
	for i, p := range parts {
		reads[i] = keyedRead{p.cost[0], sizes[p.primaryKey], hidden}
	}
	reported := partitions.Units(len(parts)-len(items)) * reads[0].least.Units
	for _, consumed := range r.consumed() {
		if consumed.TableName == parts[0].name {
			reported += partitions.ToUnits(consumed.CapacityUnits)
		}
	}
	return keyedCharges(reads, reported)
}
