package throttle

import (
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// batchReads is a BatchGetItem, of which some keys may be throttled.
type batchReads struct {
	*call
	requests map[string]tableKeys // by the names in the request
	tables   batchTables
	sent     []batchedRead
	held     map[string][]jsontext.Value
	reserved []partitions.Charge
	denied   []partitions.Denial
}

// tableKeys is the limiter's view of a table's part of a BatchGetItem.
type tableKeys struct {
	Keys           []jsontext.Value
	ConsistentRead bool

	// If one is set, the response does not have whole items.
	ProjectionExpression, AttributesToGet jsontext.Value
}

// batchedRead is one key of a BatchGetItem.
type batchedRead struct {
	item
	text  jsontext.Value // as in the request
	least partitions.Charge
}

func batchGet(c *call) (*http.Response, error) {
	var body struct {
		RequestItems           map[string]tableKeys
		ReturnConsumedCapacity string
	}
	if !decode(c.body, &body) {
		return c.passThrough()
	}
	b := &batchReads{call: c, requests: body.RequestItems, tables: batchTables{}, held: map[string][]jsontext.Value{}}
	reads, err := b.prepareReads()
	if err != nil {
		return c.passOrFail(err)
	}
	b.admit(reads)
	if b.sent == nil {
		return c.throttle(b.denied)
	}
	c.l.countUnprocessed(c.operation, len(b.denied), b.denied)
	return b.sendAdmitted(capacity{body.ReturnConsumedCapacity, totalCapacity})
}

// prepareReads returns the keys of a batch in the order of the tables' names. It returns errInvalid for
// a batch that the engine will reject.
func (b *batchReads) prepareReads() ([]batchedRead, error) {
	var reads []batchedRead
	for _, name := range slices.Sorted(maps.Keys(b.requests)) {
		request := b.requests[name]
		for _, text := range request.Keys {
			var key dynamo.Item
			if !decode(text, &key) {
				return nil, errInvalid
			}
			found, err := b.locate(name, key)
			if err != nil {
				return nil, err
			}
			b.tables[name] = found.table
			reads = append(reads, batchedRead{found, text, found.at.Reads(leastRead(request.ConsistentRead))})
		}
	}
	if len(reads) == 0 || len(reads) > maxFetch {
		return nil, errInvalid
	}
	return reads, nil
}

// admit charges the keys one by one and withholds the throttled ones.
func (b *batchReads) admit(reads []batchedRead) {
	for _, r := range reads {
		if denied := b.l.gate.Admit([]partitions.Charge{r.least}); denied != nil {
			b.held[r.name] = append(b.held[r.name], r.text)
			b.denied = append(b.denied, denied...)
		} else {
			b.sent = append(b.sent, r)
			b.reserved = append(b.reserved, r.least)
		}
	}
}

// sendAdmitted sends the admitted keys and adds the others to the response's UnprocessedKeys.
func (b *batchReads) sendAdmitted(report capacity) (*http.Response, error) {
	changed := object{}
	if len(b.held) > 0 {
		sent := map[string][]jsontext.Value{}
		for _, read := range b.sent {
			sent[read.name] = append(sent[read.name], read.text)
		}
		changed["RequestItems"] = encode(b.part(sent))
	}
	r, err := b.forward(changed, report, b.reserved)
	if err != nil {
		return nil, err
	}
	if !r.ok() {
		b.settleCharges(b.reserved, nil)
		return r.response(report)
	}
	var got batchGetAnswer
	decode(r.text, &got) // what can't be decoded was not read
	b.settleCharges(b.reserved, b.charges(r, got))
	if len(b.held) > 0 {
		b.addHeld(r)
	}
	return r.response(report)
}

type batchGetAnswer struct {
	Responses       map[string][]dynamo.Item
	UnprocessedKeys map[string]struct{ Keys []dynamo.Item }
}

// addHeld adds the throttled keys to the response's UnprocessedKeys.
func (b *batchReads) addHeld(r *reply) {
	var got struct{ UnprocessedKeys map[string]object }
	if !decode(r.text, &got) {
		got.UnprocessedKeys = nil
	}
	part := b.part(b.held)
	left := mergeHeld(b.tables, got.UnprocessedKeys, b.held, func(name string, left object, held []jsontext.Value) object {
		var keys []jsontext.Value
		if left["Keys"] == nil || !decode(left["Keys"], &keys) {
			return part[name]
		}
		left["Keys"] = encode(append(held, keys...))
		return left
	})
	r.setMember("UnprocessedKeys", left)
}

// part returns the request's RequestItems with only these keys, by the names in the request.
func (b *batchReads) part(keys map[string][]jsontext.Value) map[string]object {
	var whole struct{ RequestItems map[string]object }
	decode(b.body, &whole) // decoded before
	part := map[string]object{}
	for name, texts := range keys {
		part[name] = whole.RequestItems[name]
		part[name]["Keys"] = encode(texts)
	}
	return part
}

// charges returns the cost of the keys that were read, by the items' sizes. If a projection
// hides the sizes, the capacity that the engine reported is spread evenly.
func (b *batchReads) charges(r *reply, got batchGetAnswer) []partitions.Charge {
	var charges []partitions.Charge
	items := map[*table][]dynamo.Item{}
	for name, some := range got.Responses {
		t := b.tables.find(name)
		items[t] = append(items[t], some...)
	}
	for t, reads := range b.processed(got) {
		if !slices.ContainsFunc(reads, b.projected) {
			charges = append(charges, sizedCharges(reads, items[t])...)
			continue
		}
		surplus := -partitions.Units(len(items[t])) * reads[0].least.Units
		for _, consumed := range r.consumed() {
			if b.tables.find(consumed.TableName) == t {
				surplus += partitions.ToUnits(consumed.CapacityUnits)
			}
		}
		charges = append(charges, spreadSurplus(leastCharges(reads), surplus)...)
	}
	return charges
}

// processed returns the reads of each table that the engine has processed.
func (b *batchReads) processed(got batchGetAnswer) map[*table][]batchedRead {
	left := map[partitions.ItemID]bool{}
	for name, rest := range got.UnprocessedKeys {
		t := b.tables.find(name)
		for _, key := range rest.Keys {
			if t != nil {
				_, whole, _ := t.key.text(key)
				left[partitions.ItemID{Space: t.Space, Key: whole}] = true
			}
		}
	}
	done := map[*table][]batchedRead{}
	for _, read := range b.sent {
		if !left[read.id()] {
			done[read.table] = append(done[read.table], read)
		}
	}
	return done
}

// projected reports whether the response hides the size of a read's item.
func (b *batchReads) projected(read batchedRead) bool {
	request := b.requests[read.name]
	return request.ProjectionExpression != nil || request.AttributesToGet != nil
}

func leastCharges(reads []batchedRead) []partitions.Charge {
	charges := make([]partitions.Charge, len(reads))
	for i, read := range reads {
		charges[i] = read.least
	}
	return charges
}

// sizedCharges returns the charges of one table's reads by the items' sizes.
func sizedCharges(reads []batchedRead, items []dynamo.Item) []partitions.Charge {
	sizes := map[string]int{}
	for _, it := range items {
		if _, whole, ok := reads[0].key.text(it); ok {
			sizes[whole] = dynamo.Size(it)
		}
	}
	charges := leastCharges(reads)
	for i, read := range reads {
		charges[i].Units *= blocks(sizes[read.whole], readBlock) / partitions.Unit
	}
	return charges
}

// spreadSurplus distributes the surplus that the engine reported over charges of equal price,
// in steps of that price.
func spreadSurplus(charges []partitions.Charge, surplus partitions.Units) []partitions.Charge {
	n, price := partitions.Units(len(charges)), charges[0].Units
	steps := max(0, surplus/price)
	for i := range charges {
		charges[i].Units += steps / n * price
		if partitions.Units(i) < steps%n {
			charges[i].Units += price
		}
	}
	return charges
}
