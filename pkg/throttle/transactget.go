package throttle

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// transactGet handles TransactGetItems. A read costs twice what a strongly consistent one does.
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
	var items []item
	var reads []keyedRead
	for _, read := range body.TransactItems {
		found, err := c.locate(read.Get.TableName, read.Get.Key)
		if err != nil {
			return c.passOrFail(err)
		}
		items = append(items, found)
		reads = append(reads, keyedRead{least: found.place.Reads(transactionFactor * partitions.Unit), sizeHidden: read.Get.ProjectionExpression != nil})
	}
	if len(reads) == 0 || len(reads) > maxTransaction {
		return c.passThrough() // the engine will reject it
	}
	return c.readTransaction(items, reads, capacityReport{body.ReturnConsumedCapacity, totalCapacity})
}

// readTransaction sends a TransactGetItems if it is admitted, and charges for it. items has the item of each read.
func (c *call) readTransaction(items []item, reads []keyedRead, report capacityReport) (*http.Response, error) {
	least, ids := make([]partitions.Charge, len(reads)), make([]partitions.ItemID, len(reads))
	for i, read := range reads {
		least[i], ids[i] = read.least, items[i].id()
	}
	groups := slices.Collect(slices.Chunk(least, 1)) // each read is an action of its own
	if denied := c.l.gate.AdmitAll(groups); denied != nil {
		return c.cancelThrottled(denied)
	}
	if blocked := c.l.holds.Blocked(ids...); blocked != nil {
		c.settleCharges(least, least)
		return c.cancelForConflicts(blocked)
	}
	r, err := c.forward(object{}, report, least)
	if err != nil {
		return nil, err
	}
	var got struct {
		Responses []struct{ Item dynamo.Item }
	}
	if !r.ok() || !decode(r.text, &got) || len(got.Responses) != len(reads) {
		c.settleCharges(least, nil)
		return r.response(report)
	}
	for i := range reads {
		reads[i].size = dynamo.Size(got.Responses[i].Item)
	}
	c.settleCharges(least, keyedCharges(reads, r.reportedUnits()))
	return r.response(report)
}

// keyedRead is a read of one item in a batch or a transaction.
type keyedRead struct {
	least      partitions.Charge
	size       int  // of the item, in bytes
	sizeHidden bool // a projection hides the size
}

// keyedCharges returns the charges of reads with equal least charges, by the items' sizes. Reads whose size is hidden
// cost their least charge, and share the reported units that no charge covers.
func keyedCharges(reads []keyedRead, reported partitions.Units) []partitions.Charge {
	var charges, hidden []partitions.Charge
	for _, read := range reads {
		c := read.least
		if read.sizeHidden {
			hidden = append(hidden, c)
		} else {
			c.Units *= unitsFor(read.size, readBlock) / partitions.Unit
			charges = append(charges, c)
		}
		reported -= c.Units
	}
	return append(charges, spreadSurplus(hidden, reported)...)
}

// spreadSurplus adds a surplus to equal charges, evenly but in multiples of a charge's units. It drops a smaller rest.
func spreadSurplus(charges []partitions.Charge, surplus partitions.Units) []partitions.Charge {
	n := partitions.Units(len(charges))
	for i := range charges {
		step := charges[i].Units
		steps := max(0, surplus/step)
		charges[i].Units += steps / n * step
		if partitions.Units(i) < steps%n {
			charges[i].Units += step
		}
	}
	return charges
}
