package limiter

import (
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// tableKeys is a table's part of a BatchGetItem.
type tableKeys struct {
	keys       []jsontext.Value
	consistent bool
	others     object // the members beside the keys
}

// UnmarshalJSON reads the part; it is for the json package.
func (t *tableKeys) UnmarshalJSON(text []byte) error {
	var read struct {
		Keys           []jsontext.Value
		ConsistentRead bool
	}
	if err := json.Unmarshal(text, &read, lenient); err != nil {
		return err
	}
	t.keys, t.consistent = read.Keys, read.ConsistentRead
	return json.Unmarshal(text, &t.others, lenient)
}

// MarshalJSON writes the part; it is for the json package.
func (t tableKeys) MarshalJSON() ([]byte, error) {
	keys, err := encode(t.keys)
	if err != nil {
		return nil, err
	}
	members := maps.Clone(t.others)
	members["Keys"] = keys
	return encode(members)
}

// whole tells whether all of an item comes back.
func (t tableKeys) whole() bool {
	return t.others["ProjectionExpression"] == nil && t.others["AttributesToGet"] == nil
}

// batchKey is one key of a BatchGetItem.
type batchKey struct {
	*table
	name  string // the table's, as the caller wrote it
	id    string
	text  jsontext.Value // as the caller wrote it
	least partitions.Charge
}

// batchKeys are the keys of a batch, in the order of the tables' names.
type batchKeys struct {
	*call
	requests map[string]tableKeys
	sent     []batchKey
	held     map[string][]jsontext.Value
	taken    []partitions.Charge
	denied   []partitions.Denial
}

func batchGet(c *call) (*http.Response, error) {
	var body struct {
		RequestItems           map[string]tableKeys
		ReturnConsumedCapacity string
	}
	if !understood(c.body, &body) {
		return c.pass()
	}
	b := &batchKeys{call: c, requests: body.RequestItems, held: map[string][]jsontext.Value{}}
	keys, err := b.keys()
	if err != nil {
		return c.giveUp(err)
	}
	b.admit(keys)
	if b.sent == nil {
		return c.refuse(b.denied)
	}
	c.l.withheld(c.operation, len(b.denied), b.denied)
	r, err := b.forward(body.ReturnConsumedCapacity)
	if err != nil {
		return nil, err
	}
	if err := r.hideCapacity(body.ReturnConsumedCapacity, totalCapacity); err != nil {
		return nil, err
	}
	return r.response()
}

// keys makes out the keys of a batch. It fails with errRefused for one that
// the engine will not take.
func (b *batchKeys) keys() ([]batchKey, error) {
	var keys []batchKey
	for _, name := range slices.Sorted(maps.Keys(b.requests)) {
		t, err := b.describe(name)
		if err != nil {
			return nil, err
		}
		for _, text := range b.requests[name].keys {
			var key jsonitem.Item
			if t == nil || !understood(text, &key) {
				return nil, errRefused
			}
			hash, whole, ok := t.key.of(key)
			if !ok {
				return nil, errRefused
			}
			least := t.Place(hash).Reads(leastRead(b.requests[name].consistent))
			keys = append(keys, batchKey{t, name, name + "\x00" + whole, text, least})
		}
	}
	if len(keys) == 0 || len(keys) > maxFetch {
		return nil, errRefused
	}
	return keys, nil
}

// admit lets through the keys that no limit is in the way of.
func (b *batchKeys) admit(keys []batchKey) {
	for _, k := range keys {
		if denied := b.l.gate.Admit([]partitions.Charge{k.least}); denied != nil {
			b.held[k.name] = append(b.held[k.name], k.text)
			b.denied = append(b.denied, denied...)
		} else {
			b.sent = append(b.sent, k)
			b.taken = append(b.taken, k.least)
		}
	}
}

// forward sends what was admitted, and adds what was held to the
// UnprocessedKeys of the answer.
func (b *batchKeys) forward(asked string) (*reply, error) {
	changed := object{}
	askCapacity(changed, asked, totalCapacity)
	if len(b.held) > 0 {
		text, err := encode(b.part(b.sentTexts()))
		if err != nil {
			return nil, err
		}
		changed["RequestItems"] = text
	}
	r, err := b.send(changed)
	if err != nil {
		b.l.settle(b.operation, b.taken, b.taken) // they may have been read
		return nil, err
	}
	var got batchGetAnswer
	if !r.ok() || !understood(r.body, &got) {
		b.l.settle(b.operation, b.taken, nil)
		return r, nil
	}
	b.l.settle(b.operation, b.taken, b.charges(r, got))
	if len(b.held) == 0 {
		return r, nil
	}
	for name, left := range got.UnprocessedKeys {
		b.held[name] = append(b.held[name], left.keys...)
	}
	return r, r.set("UnprocessedKeys", b.part(b.held))
}

type batchGetAnswer struct {
	Responses       map[string][]jsonitem.Item
	UnprocessedKeys map[string]tableKeys
}

// part is the request with only some of its keys.
func (b *batchKeys) part(texts map[string][]jsontext.Value) map[string]tableKeys {
	requests := map[string]tableKeys{}
	for name, keys := range texts {
		request := b.requests[name]
		request.keys = keys
		requests[name] = request
	}
	return requests
}

func (b *batchKeys) sentTexts() map[string][]jsontext.Value {
	texts := map[string][]jsontext.Value{}
	for _, k := range b.sent {
		texts[k.name] = append(texts[k.name], k.text)
	}
	return texts
}

// charges are what the keys that were read cost: by the items' sizes, or where
// those are hidden by a projection, what the engine says, spread evenly.
func (b *batchKeys) charges(r *reply, got batchGetAnswer) []partitions.Charge {
	read := map[string][]batchKey{}
	for _, k := range b.sent {
		if !slices.ContainsFunc(got.UnprocessedKeys[k.name].keys, k.is) {
			read[k.name] = append(read[k.name], k)
		}
	}
	var charges []partitions.Charge
	for name, keys := range read {
		if b.requests[name].whole() {
			charges = append(charges, sizedCharges(keys, got.Responses[name])...)
			continue
		}
		surplus := -partitions.Units(len(got.Responses[name])) * keys[0].least.Units
		for _, consumed := range r.consumed() {
			if consumed.TableName == keys[0].Table {
				surplus += partitions.ToUnits(consumed.CapacityUnits)
			}
		}
		charges = append(charges, spreadSurplus(leastCharges(keys), surplus)...)
	}
	return charges
}

// is tells whether a text is this key.
func (k batchKey) is(text jsontext.Value) bool {
	var key jsonitem.Item
	understood(text, &key)
	_, whole, ok := k.key.of(key)
	return ok && k.id == k.name+"\x00"+whole
}

func leastCharges(keys []batchKey) []partitions.Charge {
	charges := make([]partitions.Charge, len(keys))
	for i, k := range keys {
		charges[i] = k.least
	}
	return charges
}

func sizedCharges(keys []batchKey, items []jsonitem.Item) []partitions.Charge {
	sizes := map[string]int{}
	for _, it := range items {
		if _, whole, ok := keys[0].key.of(it); ok {
			sizes[keys[0].name+"\x00"+whole] = it.Size()
		}
	}
	charges := leastCharges(keys)
	for i, k := range keys {
		charges[i].Units *= blocks(sizes[k.id], readBlock) / partitions.Unit
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
