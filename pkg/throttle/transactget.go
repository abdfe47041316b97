package throttle

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// transactGet charges twice the cost of strongly consistent reads.
func transactGet(c *call) (*http.Response, error) {
	var body struct {
		TransactItems []struct {
			Get struct {
				TableName            string
				Key                  dynamo.Item
				ProjectionExpression jsontext.Value
			}
		}
		ReturnConsumedCapacity string
	}
	if !decode(c.body, &body) {
		return c.passThrough()
	}
	var reads []keyedRead
	for _, read := range body.TransactItems {
		found, err := c.locate(read.Get.TableName, read.Get.Key)
		if err != nil {
			return c.passOrFail(err)
		}
		reads = append(reads, keyedRead{found, found.at.Reads(transaction * partitions.Unit), read.Get.ProjectionExpression == nil})
	}
	return c.readTransaction(reads, body.ReturnConsumedCapacity)
}

// keyedRead is a read of one item in a transaction.
type keyedRead struct {
	item
	least partitions.Charge
	whole bool // the response has the whole item
}

// readTransaction sends a transaction of reads. It passes one that the engine will reject.
func (c *call) readTransaction(reads []keyedRead, asked string) (*http.Response, error) {
	if len(reads) == 0 || len(reads) > maxTransaction {
		return c.passThrough()
	}
	least, items := make([]partitions.Charge, len(reads)), make([]partitions.ItemID, len(reads))
	for i, read := range reads {
		least[i], items[i] = read.least, read.id()
	}
	if denied := c.l.gate.AdmitAll(slices.Collect(slices.Chunk(least, 1))); anyDenied(denied) {
		return c.cancel(denied)
	}
	if blocked := c.l.holds.Busy(items); blocked != nil {
		c.settleCharges(least, least)
		return c.cancelForConflicts(blocked)
	}
	report := capacity{asked, totalCapacity}
	r, err := c.forward(object{}, report, least)
	if err != nil {
		return nil, err
	}
	c.settleCharges(least, keyedReadCharges(r, reads))
	return r.response(report)
}

// keyedReadCharges returns charges by the items' sizes. The rest of the capacity that the
// engine reported is spread over items whose size a projection hides.
func keyedReadCharges(r *reply, reads []keyedRead) []partitions.Charge {
	var got struct {
		Responses []struct{ Item dynamo.Item }
	}
	if !r.ok() || !decode(r.text, &got) || len(got.Responses) != len(reads) {
		return nil
	}
	var surplus partitions.Units
	for _, consumed := range r.consumed() {
		surplus += partitions.ToUnits(consumed.CapacityUnits)
	}
	var charges, hidden []partitions.Charge
	for i, read := range reads {
		c := read.least
		if !read.whole {
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
