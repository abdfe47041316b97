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
	var in struct {
		TransactItems      []map[string]writeBody
		ClientRequestToken string
	}
	if !decode(c.body, &in) {
		return c.passThrough()
	}
	t := &writeTransaction{call: c, clientToken: in.ClientRequestToken}
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
	token := t.token()
	until, blocked := t.l.holds.Begin(token, t.itemIDs())
	reserved := slices.Concat(costs...)
	if blocked != nil {
		t.settleCharges(reserved, t.failedConditionCosts())
		return t.cancelForConflicts(blocked)
	}
	defer t.l.waitUntil(t.req.Context(), until)
	return t.sendAdmitted(reserved, token)
}

// writeTransaction is a TransactWriteItems.
type writeTransaction struct {
	*call
	clientToken string
	writes      []*write
}

// token returns the client token with its database, or "" if there is no client token.
func (t *writeTransaction) token() string {
	if t.clientToken == "" {
		return ""
	}
	return t.database() + "\x00" + t.clientToken
}

func (t *writeTransaction) itemIDs() []partitions.ItemID {
	ids := make([]partitions.ItemID, len(t.writes))
	for i, w := range t.writes {
		ids[i] = w.id()
	}
	return ids
}

func (t *writeTransaction) sendAdmitted(reserved []partitions.Charge, token string) (*http.Response, error) {
	r, err := t.forward(object{}, capacityReport{}, reserved)
	tokenReused := false
	if err != nil || r.ok() { // the transaction was or may have been applied
		tokenReused = t.l.holds.RecordToken(token)
	}
	if err != nil {
		return nil, err
	}
	t.settleCharges(reserved, t.charges(r, tokenReused))
	return r.response(capacityReport{})
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
func (t *writeTransaction) charges(r *reply, tokenReused bool) []partitions.Charge {
	switch {
	case !r.ok():
		return t.cancelledCharges(r)
	case tokenReused:
		return t.reusedTokenCosts()
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

// reusedTokenCosts returns the costs of a transaction whose client token was used before: transactional reads.
func (t *writeTransaction) reusedTokenCosts() []partitions.Charge {
	var charges []partitions.Charge
	for _, w := range t.writes {
		charges = append(charges, w.place.Reads(transactionFactor*unitsFor(dynamo.Size(w.before), readBlock)))
	}
	return charges
}
