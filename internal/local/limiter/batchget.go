package limiter

import (
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// batchReads is a BatchGetItem of which some keys may be held back.
type batchReads struct {
	*call
	requests map[string]tableKeys // by the tables' names
	sent     []batchedRead
	held     map[string][]jsontext.Value
	taken    []partitions.Charge
	denied   []partitions.Denial
}

// tableKeys is a table's part of a BatchGetItem, as far as it is read.
type tableKeys struct {
	Keys           []jsontext.Value
	ConsistentRead bool

	// Where one is set, not all of an item comes back.
	ProjectionExpression, AttributesToGet jsontext.Value
}

// batchedRead is one key of a BatchGetItem.
type batchedRead struct {
	item
	text  jsontext.Value // as the caller wrote it
	least partitions.Charge
}

func batchGet(c *call) (*http.Response, error) {
	var body struct {
		RequestItems           map[string]tableKeys
		ReturnConsumedCapacity string
	}
	if !understood(c.body, &body) {
		return c.pass()
	}
	b := &batchReads{call: c, requests: body.RequestItems, held: map[string][]jsontext.Value{}}
	reads, err := b.read()
	if err != nil {
		return c.giveUp(err)
	}
	b.admit(reads)
	if b.sent == nil {
		return c.refuse(b.denied)
	}
	c.l.withheld(c.operation, len(b.denied), b.denied)
	return b.do(capacity{body.ReturnConsumedCapacity, totalCapacity})
}

// read makes out the keys of a batch, in the order of the tables' names. It fails with
// errRefused for a batch that the engine will not take.
func (b *batchReads) read() ([]batchedRead, error) {
	var reads []batchedRead
	for _, name := range slices.Sorted(maps.Keys(b.requests)) {
		request := b.requests[name]
		for _, text := range request.Keys {
			of, err := b.item(name, text)
			if err != nil {
				return nil, err
			}
			reads = append(reads, batchedRead{of, text, of.at.Reads(leastRead(request.ConsistentRead))})
		}
	}
	if len(reads) == 0 || len(reads) > maxFetch {
		return nil, errRefused
	}
	return reads, nil
}

func (b *batchReads) item(table string, text jsontext.Value) (item, error) {
	var key jsonitem.Item
	if !understood(text, &key) {
		return item{}, errRefused
	}
	return b.locate(table, key)
}

// admit lets through the keys that no limit is in the way of.
func (b *batchReads) admit(reads []batchedRead) {
	for _, r := range reads {
		if denied := b.l.gate.Admit([]partitions.Charge{r.least}); denied != nil {
			b.held[r.name] = append(b.held[r.name], r.text)
			b.denied = append(b.denied, denied...)
		} else {
			b.sent = append(b.sent, r)
			b.taken = append(b.taken, r.least)
		}
	}
}

// do sends what was admitted, and adds what was held to the UnprocessedKeys of the answer.
func (b *batchReads) do(tell capacity) (*http.Response, error) {
	changed := object{}
	if len(b.held) > 0 {
		sent := map[string][]jsontext.Value{}
		for _, read := range b.sent {
			sent[read.name] = append(sent[read.name], read.text)
		}
		text, err := b.part(sent)
		if err != nil {
			return nil, err
		}
		changed["RequestItems"] = text
	}
	r, err := b.forward(changed, tell, b.taken)
	if err != nil {
		return nil, err
	}
	var got batchGetAnswer
	if !r.ok() || !understood(r.body, &got) {
		b.l.settle(b.operation, b.taken, nil)
		return r.response(tell)
	}
	b.l.settle(b.operation, b.taken, b.charges(r, got))
	if len(b.held) > 0 {
		for name, left := range got.UnprocessedKeys {
			b.held[name] = append(b.held[name], left.Keys...)
		}
		text, err := b.part(b.held)
		if err != nil {
			return nil, err
		}
		if err := r.set("UnprocessedKeys", text); err != nil {
			return nil, err
		}
	}
	return r.response(tell)
}

type batchGetAnswer struct {
	Responses       map[string][]jsonitem.Item
	UnprocessedKeys map[string]tableKeys
}

// part is the RequestItems of the request with only some of its keys.
func (b *batchReads) part(keys map[string][]jsontext.Value) (jsontext.Value, error) {
	var whole struct{ RequestItems map[string]object }
	understood(b.body, &whole) // as before
	part := map[string]object{}
	for name, texts := range keys {
		text, err := encode(texts)
		if err != nil {
			return nil, err
		}
		part[name] = whole.RequestItems[name]
		part[name]["Keys"] = text
	}
	return encode(part)
}

// charges are what the keys that were read cost: by the items' sizes, or where
// those are hidden by a projection, what the engine says, spread evenly.
func (b *batchReads) charges(r *reply, got batchGetAnswer) []partitions.Charge {
	left := map[string]bool{}
	for name, request := range got.UnprocessedKeys {
		for _, text := range request.Keys {
			if of, err := b.item(name, text); err == nil {
				left[of.id()] = true
			}
		}
	}
	done := map[string][]batchedRead{}
	for _, read := range b.sent {
		if !left[read.id()] {
			done[read.name] = append(done[read.name], read)
		}
	}
	var charges []partitions.Charge
	for name, reads := range done {
		if request := b.requests[name]; request.ProjectionExpression == nil && request.AttributesToGet == nil {
			charges = append(charges, sizedCharges(reads, got.Responses[name])...)
			continue
		}
		surplus := -partitions.Units(len(got.Responses[name])) * reads[0].least.Units
		for _, consumed := range r.consumed() {
			if consumed.TableName == reads[0].Table {
				surplus += partitions.ToUnits(consumed.CapacityUnits)
			}
		}
		charges = append(charges, spreadSurplus(leastCharges(reads), surplus)...)
	}
	return charges
}

func leastCharges(reads []batchedRead) []partitions.Charge {
	charges := make([]partitions.Charge, len(reads))
	for i, read := range reads {
		charges[i] = read.least
	}
	return charges
}

// sizedCharges are those of reads of one table that found items.
func sizedCharges(reads []batchedRead, items []jsonitem.Item) []partitions.Charge {
	sizes := map[string]int{}
	for _, it := range items {
		if _, whole, ok := reads[0].key.of(it); ok {
			sizes[whole] = it.Size()
		}
	}
	charges := leastCharges(reads)
	for i, read := range reads {
		charges[i].Units *= blocks(sizes[read.whole], readBlock) / partitions.Unit
	}
	return charges
}

// spreadSurplus adds to charges of equal price what the engine says beyond them,
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
