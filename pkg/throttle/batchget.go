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
	requests map[string]tableKeys // by the tables' names
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
	b := &batchReads{call: c, requests: body.RequestItems, held: map[string][]jsontext.Value{}}
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
			found, err := b.item(name, text)
			if err != nil {
				return nil, err
			}
			reads = append(reads, batchedRead{found, text, found.at.Reads(leastRead(request.ConsistentRead))})
		}
	}
	if len(reads) == 0 || len(reads) > maxFetch {
		return nil, errInvalid
	}
	return reads, nil
}

func (b *batchReads) item(table string, text jsontext.Value) (item, error) {
	var key dynamo.Item
	if !decode(text, &key) {
		return item{}, errInvalid
	}
	return b.locate(table, key)
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
		text, err := b.part(sent)
		if err != nil {
			return nil, err
		}
		changed["RequestItems"] = text
	}
	r, err := b.forward(changed, report, b.reserved)
	if err != nil {
		return nil, err
	}
	var got batchGetAnswer
	if !r.ok() || !decode(r.text, &got) {
		b.settleCharges(b.reserved, nil)
		return r.response(report)
	}
	b.settleCharges(b.reserved, b.charges(r, got))
	if len(b.held) > 0 {
		for name, left := range got.UnprocessedKeys {
			b.held[name] = append(b.held[name], left.Keys...)
		}
		text, err := b.part(b.held)
		if err != nil {
			return nil, err
		}
		if err := r.setMember("UnprocessedKeys", text); err != nil {
			return nil, err
		}
	}
	return r.response(report)
}

type batchGetAnswer struct {
	Responses       map[string][]dynamo.Item
	UnprocessedKeys map[string]tableKeys
}

// part returns the request's RequestItems with only these keys.
func (b *batchReads) part(keys map[string][]jsontext.Value) (jsontext.Value, error) {
	var whole struct{ RequestItems map[string]object }
	decode(b.body, &whole) // decoded before
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

// charges returns the cost of the keys that were read, by the items' sizes. If a projection
// hides the sizes, the capacity that the engine reported is spread evenly.
func (b *batchReads) charges(r *reply, got batchGetAnswer) []partitions.Charge {
	left := map[string]bool{}
	for name, request := range got.UnprocessedKeys {
		for _, text := range request.Keys {
			if found, err := b.item(name, text); err == nil {
				left[found.id()] = true
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
