package limiter

import (
	"net/http"
	"slices"

	"github.com/hotshard/hotshard/internal/local/partitions"
)

// transactWrite charges the sizes of the items before and after. The engine's own
// figure is of no use: DynamoDB Local's is twice AWS's.
func transactWrite(c *call) (*http.Response, error) {
	t := &writeTransaction{call: c}
	if !understood(c.body, &t.in) {
		return c.pass()
	}
	if err := t.read(); err != nil {
		return c.giveUp(err)
	}
	costs := t.costs()
	if denied := c.l.gate.AdmitAll(costs); anyDenied(denied) {
		return c.cancel(denied)
	}
	token := t.token()
	until, met := c.l.holds.Begin(token, t.items())
	taken := slices.Concat(costs...)
	if met != nil {
		c.l.settle(c.operation, taken, t.cancelledCosts())
		return c.collide(met)
	}
	defer c.l.wait(c.req.Context(), until)
	return t.do(taken, token)
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

// transactBody is what is read of a TransactWriteItems.
type transactBody struct {
	TransactItems          []map[string]writeBody
	ClientRequestToken     string
	ReturnConsumedCapacity string
}

// token is the client token for one database; "" is none.
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

// do sends a transaction that was admitted.
func (t *writeTransaction) do(taken []partitions.Charge, token string) (*http.Response, error) {
	tell := capacity{t.in.ReturnConsumedCapacity, totalCapacity}
	r, err := t.forward(object{}, tell, taken)
	if err != nil || r.ok() { // it may have been written, or was
		t.l.holds.Done(token)
	}
	if err != nil {
		return nil, err
	}
	t.l.settle(t.operation, taken, t.charges(r))
	return r.response(tell)
}

// maxTransaction is the most actions that the engine takes.
const maxTransaction = 100

// read makes out the actions and the items before them. It fails with errRefused for
// what the engine will not take.
func (t *writeTransaction) read() error {
	if len(t.in.TransactItems) == 0 || len(t.in.TransactItems) > maxTransaction {
		return errRefused
	}
	for _, action := range t.in.TransactItems {
		if len(action) != 1 {
			return errRefused
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
		w.look(found[w.id()])
		if w.kind == condition {
			w.after = w.before
		}
	}
	return nil
}

// costs are what the actions cost, each by itself. Indexes follow when the
// transaction is done, with one write.
func (t *writeTransaction) costs() [][]partitions.Charge {
	costs := make([][]partitions.Charge, len(t.writes))
	for i, w := range t.writes {
		costs[i] = w.cost()
		costs[i][0].Units *= transaction
	}
	return costs
}

// charges are what a transaction cost in the end.
func (t *writeTransaction) charges(r *reply) []partitions.Charge {
	switch {
	case !r.ok():
		return t.cancelledCharges(r)
	case r.repeated():
		return t.repeatedCharges()
	}
	t.lookAgain()
	return slices.Concat(t.costs()...)
}

// lookAgain reads what updates made of their items.
func (t *writeTransaction) lookAgain() {
	updates := slices.DeleteFunc(slices.Clone(t.writes), func(w *write) bool { return w.kind != update })
	found, err := t.fetch(updates...)
	if err != nil {
		return // what was made out before has to do
	}
	for _, w := range updates {
		w.after = found[w.id()]
	}
}

// cancelledCharges are those of a transaction that the engine refused. Only one
// whose condition failed costs anything.
func (t *writeTransaction) cancelledCharges(r *reply) []partitions.Charge {
	var e struct{ CancellationReasons []struct{ Code string } }
	if r.exception() != "TransactionCanceledException" || !understood(r.body, &e) {
		return nil
	}
	if !slices.Contains(e.CancellationReasons, struct{ Code string }{"ConditionalCheckFailed"}) {
		return nil
	}
	return t.cancelledCosts()
}

// cancelledCosts go by the items as they are.
func (t *writeTransaction) cancelledCosts() []partitions.Charge {
	charges := make([]partitions.Charge, len(t.writes))
	for i, w := range t.writes {
		charges[i] = w.at.Writes(transaction * blocks(w.before.Size(), writeBlock))
	}
	return charges
}

// repeated tells whether a client token was used again: the engine then read
// the items and wrote nothing.
func (r *reply) repeated() bool {
	for _, c := range r.consumed() {
		if c.ReadCapacityUnits != nil && c.WriteCapacityUnits == nil {
			return true
		}
	}
	return false
}

func (t *writeTransaction) repeatedCharges() []partitions.Charge {
	var charges []partitions.Charge
	for _, w := range t.writes {
		charges = append(charges, w.at.Reads(transaction*blocks(w.before.Size(), readBlock)))
	}
	return charges
}
