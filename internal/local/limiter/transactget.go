package limiter

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// transactRead is one read of a transaction.
type transactRead struct {
	Get struct {
		TableName            string
		Key                  jsonitem.Item
		ProjectionExpression jsontext.Value
	}
}

// transactGet charges twice what strong reads of the items cost.
func transactGet(c *call) (*http.Response, error) {
	var body struct {
		TransactItems          []transactRead
		ReturnConsumedCapacity string
	}
	if !understood(c.body, &body) {
		return c.pass()
	}
	least, items, err := transactReads(c, body.TransactItems)
	if err != nil {
		return c.giveUp(err)
	}
	groups := slices.Collect(slices.Chunk(least, 1))
	if denied := c.l.gate.AdmitAll(groups); slices.ContainsFunc(denied, func(d []partitions.Denial) bool { return d != nil }) {
		return c.cancel(denied)
	}
	if met := c.l.holds.Busy(items); met != nil {
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
func transactReads(c *call, reads []transactRead) ([]partitions.Charge, []partitions.ItemID, error) {
	if len(reads) == 0 || len(reads) > maxTransaction {
		return nil, nil, errRefused
	}
	least, items := make([]partitions.Charge, len(reads)), make([]partitions.ItemID, len(reads))
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
		least[i] = t.Place(hash).Reads(transaction * partitions.Unit)
		items[i] = partitions.ItemID{Space: t.Space, Key: whole}
	}
	return least, items, nil
}

// transactReadCharges go by the items' sizes. Where a projection hides one, what
// the engine says beyond those is spread over the ones hidden.
func transactReadCharges(r *reply, reads []transactRead, least []partitions.Charge) []partitions.Charge {
	var got struct {
		Responses []struct{ Item jsonitem.Item }
	}
	if !r.ok() || !understood(r.body, &got) || len(got.Responses) != len(reads) {
		return nil
	}
	var surplus partitions.Units
	for _, consumed := range r.consumed() {
		surplus += partitions.ToUnits(consumed.CapacityUnits)
	}
	var charges, hidden []partitions.Charge
	for i, read := range reads {
		c := least[i]
		if read.Get.ProjectionExpression != nil {
			hidden = append(hidden, c)
		} else {
			c.Units *= blocks(got.Responses[i].Item.Size(), readBlock) / partitions.Unit
			charges = append(charges, c)
		}
		surplus -= c.Units
	}
	if hidden == nil {
		return charges
	}
	return append(charges, spreadSurplus(hidden, surplus)...)
}
