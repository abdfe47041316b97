package limiter

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/aws/partitions"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// transactRead is one read of a transaction.
type transactRead struct {
	Get struct {
		TableName            string
		Key                  dynamo.Item
		ProjectionExpression jsontext.Value
	}
}

// transactGet charges twice the cost of strongly consistent reads.
func transactGet(c *call) (*http.Response, error) {
	var body struct {
		TransactItems          []transactRead
		ReturnConsumedCapacity string
	}
	if !decode(c.body, &body) {
		return c.pass()
	}
	least, items, err := transactReads(c, body.TransactItems)
	if err != nil {
		return c.passOrFail(err)
	}
	if denied := c.l.gate.AdmitAll(slices.Collect(slices.Chunk(least, 1))); anyDenied(denied) {
		return c.cancel(denied)
	}
	if blocked := c.l.holds.Busy(items); blocked != nil {
		c.l.settle(c.operation, least, least)
		return c.cancelForConflicts(blocked)
	}
	report := capacity{body.ReturnConsumedCapacity, totalCapacity}
	r, err := c.forward(object{}, report, least)
	if err != nil {
		return nil, err
	}
	c.l.settle(c.operation, least, transactReadCharges(r, body.TransactItems, least))
	return r.response(report)
}

// transactReads returns the least costs and the items of a transaction. It returns errInvalid
// for a transaction that the engine will reject.
func transactReads(c *call, reads []transactRead) ([]partitions.Charge, []partitions.ItemID, error) {
	if len(reads) == 0 || len(reads) > maxTransaction {
		return nil, nil, errInvalid
	}
	least, items := make([]partitions.Charge, len(reads)), make([]partitions.ItemID, len(reads))
	for i, read := range reads {
		found, err := c.locate(read.Get.TableName, read.Get.Key)
		if err != nil {
			return nil, nil, err
		}
		least[i], items[i] = found.at.Reads(transaction*partitions.Unit), found.held()
	}
	return least, items, nil
}

// transactReadCharges returns charges by the items' sizes. The rest of the capacity that the
// engine reported is spread over items whose size a projection hides.
func transactReadCharges(r *reply, reads []transactRead, least []partitions.Charge) []partitions.Charge {
	var got struct {
		Responses []struct{ Item dynamo.Item }
	}
	if !r.ok() || !decode(r.body, &got) || len(got.Responses) != len(reads) {
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
			c.Units *= blocks(dynamo.Size(got.Responses[i].Item), readBlock) / partitions.Unit
			charges = append(charges, c)
		}
		surplus -= c.Units
	}
	if hidden == nil {
		return charges
	}
	return append(charges, spreadSurplus(hidden, surplus)...)
}
