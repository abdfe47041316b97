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
	if denied := c.l.gate.AdmitAll(slices.Collect(slices.Chunk(least, 1))); anyDenied(denied) {
		return c.cancel(denied)
	}
	if met := c.l.holds.Busy(items); met != nil {
		c.l.settle(c.operation, least, least)
		return c.collide(met)
	}
	tell := capacity{body.ReturnConsumedCapacity, totalCapacity}
	r, err := c.forward(object{}, tell, least)
	if err != nil {
		return nil, err
	}
	c.l.settle(c.operation, least, transactReadCharges(r, body.TransactItems, least))
	return r.response(tell)
}

// transactReads are what the reads cost at least, and their items. It fails with
// errRefused for what the engine will not take.
func transactReads(c *call, reads []transactRead) ([]partitions.Charge, []partitions.ItemID, error) {
	if len(reads) == 0 || len(reads) > maxTransaction {
		return nil, nil, errRefused
	}
	least, items := make([]partitions.Charge, len(reads)), make([]partitions.ItemID, len(reads))
	for i, read := range reads {
		of, err := c.locate(read.Get.TableName, read.Get.Key)
		if err != nil {
			return nil, nil, err
		}
		least[i], items[i] = of.at.Reads(transaction*partitions.Unit), of.held()
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
