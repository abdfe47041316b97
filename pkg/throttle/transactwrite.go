package throttle

import (
	"net/http"
	"slices"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// transactWrite handles TransactWriteItems. It charges by the size of each item before and after the transaction, since
// the capacity that DynamoDB Local reports omits condition checks.
func transactWrite(c *call) (*http.Response, error) {
	var in struct{ TransactItems []map[string]writeBody }
	if !decode(c.body, &in) {
		return c.passThrough()
	}
	t := &writeTransaction{call: c}
	for _, action := range in.TransactItems {
		if len(action) != 1 {
			return c.passThrough()
		}
		for kind, body := range action {
			w, err := t.newWrite(kind, &body)
			if err != nil {
				return c.passOrFail(err)
			}
			t.writes = append(t.writes, w)
		}
	}
	return t.admitAndSend()
}

// admitAndSend sends the transaction if it is admitted, and charges for it. Invalid transactions pass uncharged.
func (t *writeTransaction) admitAndSend() (*http.Response, error) {
	if len(t.writes) == 0 || len(t.writes) > maxTransaction {
		return t.passThrough()
	}
	if err := t.fetchBefore(t.writes...); err != nil {
		return t.passOrFail(err)
	}
	costs := t.costs()
	if denied := t.l.gate.AdmitAll(costs); denied != nil {
		return t.cancelThrottled(denied)
	}
	until, blocked := t.l.holds.Begin(t.itemIDs())
	reserved := slices.Concat(costs...)
	if blocked != nil {
		t.settleCharges(reserved, t.failedConditionCosts())
		return t.cancelForConflicts(blocked)
	}
	defer t.l.waitUntil(t.req.Context(), until)
	r, err := t.forward(object{}, capacityReport{}, reserved)
	if err != nil {
		return nil, err
	}
	t.settleCharges(reserved, t.charges(r))
	return r.response(capacityReport{})
}

// writeTransaction is a TransactWriteItems.
type writeTransaction struct {
	*call
	writes []*write
}

func (t *writeTransaction) itemIDs() []partitions.ItemID {
	ids := make([]partitions.ItemID, len(t.writes))
	for i, w := range t.writes {
		ids[i] = w.id()
	}
	return ids
}

// maxTransaction is DynamoDB's limit of actions in a transaction.
const maxTransaction = 100

// costs returns each action's costs. Index writes are not doubled: they happen after the transaction.
func (t *writeTransaction) costs() [][]partitions.Charge {
	costs := make([][]partitions.Charge, len(t.writes))
	for i, w := range t.writes {
		costs[i] = w.cost()
		costs[i][0].Units *= transactionFactor
	}
	return costs
}

// charges returns what the transaction costs by the engine's response.
func (t *writeTransaction) charges(r *reply) []partitions.Charge {
	if !r.ok() {
		return t.cancelledCharges(r)
	}
	t.fetchAfter(t.writes...)
	return slices.Concat(t.costs()...)
}

// cancelledCharges returns the charges of a transaction that the engine cancelled. Only a
// failed condition costs anything.
func (t *writeTransaction) cancelledCharges(r *reply) []partitions.Charge {
	var e struct{ CancellationReasons []struct{ Code string } }
	if r.exception() != "TransactionCanceledException" || !decode(r.text, &e) {
		return nil
	}
	if slices.ContainsFunc(e.CancellationReasons, func(r struct{ Code string }) bool { return r.Code == "ConditionalCheckFailed" }) {
		return t.failedConditionCosts()
	}
	return nil
}

// failedConditionCosts returns the costs of all actions if a condition fails or an item conflicts. They follow from the
// items before the transaction.
func (t *writeTransaction) failedConditionCosts() []partitions.Charge {
	charges := make([]partitions.Charge, len(t.writes))
	for i, w := range t.writes {
		charges[i] = w.place.Writes(transactionFactor * unitsFor(dynamo.Size(w.before), writeBlock))
	}
	return charges
}
