package limiter

import (
	"net/http"
	"slices"

	"github.com/hotshard/hotshard/internal/aws/partitions"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// transactWrite charges by the item sizes before and after. The capacity that DynamoDB Local
// reports has no condition checks, and counts each write once instead of twice.
func transactWrite(c *call) (*http.Response, error) {
	t := &writeTransaction{call: c}
	if !decode(c.body, &t.in) {
		return c.pass()
	}
	if err := t.read(); err != nil {
		return c.passOrFail(err)
	}
	costs := t.costs()
	if denied := c.l.gate.AdmitAll(costs); anyDenied(denied) {
		return c.cancel(denied)
	}
	token := t.token()
	until, blocked := c.l.holds.Begin(token, t.items())
	reserved := slices.Concat(costs...)
	if blocked != nil {
		c.l.settle(c.operation, reserved, t.cancelledCosts())
		return c.cancelForConflicts(blocked)
	}
	defer c.l.wait(c.req.Context(), until)
	return t.do(reserved, token)
}

func anyDenied(groups [][]partitions.Denial) bool {
	return slices.ContainsFunc(groups, func(d []partitions.Denial) bool { return d != nil })
}

// writeTransaction is a TransactWriteItems.
type writeTransaction struct {
	*call
	in     transactBody
	writes []*write
}

// transactBody has the members of a TransactWriteItems that the limiter reads.
type transactBody struct {
	TransactItems      []map[string]writeBody
	ClientRequestToken string
}

// token identifies the client token in its database; it is "" if there is none.
func (t *writeTransaction) token() string {
	if t.in.ClientRequestToken == "" {
		return ""
	}
	return t.database() + "\x00" + t.in.ClientRequestToken
}

func (t *writeTransaction) items() []partitions.ItemID {
	ids := make([]partitions.ItemID, len(t.writes))
	for i, w := range t.writes {
		ids[i] = w.held()
	}
	return ids
}

// do sends an admitted transaction.
func (t *writeTransaction) do(reserved []partitions.Charge, token string) (*http.Response, error) {
	r, err := t.forward(object{}, capacity{}, reserved)
	again := false
	if err != nil || r.ok() { // it was or may have been applied
		again = t.l.holds.Done(token)
	}
	if err != nil {
		return nil, err
	}
	t.l.settle(t.operation, reserved, t.charges(r, again))
	return r.response(capacity{})
}

// maxTransaction is the engine's limit of actions.
const maxTransaction = 100

// read prepares the actions and fetches their items. It returns errInvalid for a transaction
// that the engine will reject.
func (t *writeTransaction) read() error {
	if len(t.in.TransactItems) == 0 || len(t.in.TransactItems) > maxTransaction {
		return errInvalid
	}
	for _, action := range t.in.TransactItems {
		if len(action) != 1 {
			return errInvalid
		}
		for kind, body := range action {
			w, err := t.newWrite(kind, &body)
			if err != nil {
				return err
			}
			t.writes = append(t.writes, w)
		}
	}
	found, err := t.fetch(t.writes...)
	if err != nil {
		return err
	}
	for _, w := range t.writes {
		w.setBefore(found[w.id()])
		if w.kind == condition {
			w.after = w.before
		}
	}
	return nil
}

// costs returns each action's costs. Index writes are not doubled: they happen after the
// transaction.
func (t *writeTransaction) costs() [][]partitions.Charge {
	costs := make([][]partitions.Charge, len(t.writes))
	for i, w := range t.writes {
		costs[i] = w.cost()
		costs[i][0].Units *= transaction
	}
	return costs
}

// charges returns a transaction's final cost. A reused client token only reads the items.
func (t *writeTransaction) charges(r *reply, again bool) []partitions.Charge {
	switch {
	case !r.ok():
		return t.cancelledCharges(r)
	case again:
		return t.repeatedCharges()
	}
	t.refetchUpdated()
	return slices.Concat(t.costs()...)
}

// refetchUpdated reads the items of updates after the transaction.
func (t *writeTransaction) refetchUpdated() {
	updates := slices.DeleteFunc(slices.Clone(t.writes), func(w *write) bool { return w.kind != update })
	found, err := t.fetch(updates...)
	if err != nil {
		return // keep the calculated items
	}
	for _, w := range updates {
		w.after = found[w.id()]
	}
}

// cancelledCharges returns the charges of a transaction that the engine cancelled. Only a
// failed condition costs anything.
func (t *writeTransaction) cancelledCharges(r *reply) []partitions.Charge {
	var e struct{ CancellationReasons []struct{ Code string } }
	if r.exception() != "TransactionCanceledException" || !decode(r.body, &e) {
		return nil
	}
	if !slices.Contains(e.CancellationReasons, struct{ Code string }{"ConditionalCheckFailed"}) {
		return nil
	}
	return t.cancelledCosts()
}

// cancelledCosts returns the costs of a failed condition, by the existing items' sizes.
func (t *writeTransaction) cancelledCosts() []partitions.Charge {
	charges := make([]partitions.Charge, len(t.writes))
	for i, w := range t.writes {
		charges[i] = w.at.Writes(transaction * blocks(dynamo.Size(w.before), writeBlock))
	}
	return charges
}

func (t *writeTransaction) repeatedCharges() []partitions.Charge {
	var charges []partitions.Charge
	for _, w := range t.writes {
		charges = append(charges, w.at.Reads(transaction*blocks(dynamo.Size(w.before), readBlock)))
	}
	return charges
}
