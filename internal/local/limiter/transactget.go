package limiter

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// transactRead is one read of a transaction.
type transactRead struct {
	Get struct {
		TableName            string
		Key                  item
		ProjectionExpression jsontext.Value
	}
}

// transactGet charges twice what strong reads of the items cost.
func (c *call) transactGet() (*http.Response, error) {
	var body struct {
		TransactItems          []transactRead
		ReturnConsumedCapacity string
	}
	if !understood(c.body, &body) {
		return c.pass()
	}
	least, items, err := c.transactReads(body.TransactItems)
	if err != nil {
		return c.giveUp(err)
	}
	groups := slices.Collect(slices.Chunk(least, 1))
	if denied := c.l.admitAll(groups); slices.ContainsFunc(denied, func(d []denial) bool { return d != nil }) {
		return c.cancel(denied)
	}
	if met := c.l.busy(items); met != nil {
		c.l.settle(c.operation, least, least)
		return c.collide(met)
	}
	changed := object{}
	askCapacity(changed, body.ReturnConsumedCapacity, totalCapacity)
	r, err := c.send(changed)
	if err != nil {
		c.l.settle(c.operation, least, least) // they may have been read
		return nil, err
	}
	c.l.settle(c.operation, least, transactReadCharges(r, body.TransactItems, least))
	if err := r.hideCapacity(body.ReturnConsumedCapacity, totalCapacity); err != nil {
		return nil, err
	}
	return r.response()
}

// transactReads are what the reads cost at least, and their items. It fails with
// errRefused for what the engine will not take.
func (c *call) transactReads(reads []transactRead) ([]charge, []itemID, error) {
	if len(reads) == 0 || len(reads) > maxTransaction {
		return nil, nil, errRefused
	}
	least, items := make([]charge, len(reads)), make([]itemID, len(reads))
	for i, read := range reads {
		t, err := c.describe(read.Get.TableName)
		if err != nil {
			return nil, nil, err
		}
		if t == nil {
			return nil, nil, errRefused
		}
		hash, whole, ok := t.key.of(read.Get.Key)
		if !ok {
			return nil, nil, errRefused
		}
		least[i] = charge{place: c.l.place(t.space, hash), units: transaction * unit}
		items[i] = itemID{t.space, whole}
	}
	return least, items, nil
}

// transactReadCharges go by the items' sizes. Where a projection hides one, what
// the engine says beyond those is spread over the ones hidden.
func transactReadCharges(r *reply, reads []transactRead, least []charge) []charge {
	var got struct{ Responses []struct{ Item item } }
	if !r.ok() || !understood(r.body, &got) || len(got.Responses) != len(reads) {
		return nil
	}
	var surplus units
	for _, consumed := range r.consumed() {
		surplus += toUnits(consumed.CapacityUnits)
	}
	var charges, hidden []charge
	for i, read := range reads {
		c := least[i]
		if read.Get.ProjectionExpression != nil {
			hidden = append(hidden, c)
		} else {
			c.units *= blocks(got.Responses[i].Item.size(), readBlock) / unit
			charges = append(charges, c)
		}
		surplus -= c.units
	}
	if hidden == nil {
		return charges
	}
	return append(charges, spreadSurplus(hidden, surplus)...)
}
