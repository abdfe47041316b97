package limiter

import (
	"net/http"
	"slices"
)

// transactWrite charges the sizes of the items before and after. The engine's own
// figure is of no use: DynamoDB Local's is twice AWS's.
func (c *call) transactWrite() (*http.Response, error) {
	var body transactBody
	if !understood(c.body, &body) {
		return c.pass()
	}
	writes, err := c.transactWrites(body.TransactItems)
	if err != nil {
		return c.giveUp(err)
	}
	taken := c.l.transactCosts(writes)
	if denied := c.l.admitAll(taken); slices.ContainsFunc(denied, func(d []denial) bool { return d != nil }) {
		return c.cancel(denied)
	}
	token := c.token(body.ClientRequestToken)
	until, met := c.l.begin(token, items(writes))
	all := slices.Concat(taken...)
	if met != nil {
		c.l.settle(c.operation, all, c.l.cancelledCosts(writes))
		return c.collide(met)
	}
	defer c.l.wait(c.req.Context(), until)
	return c.transact(&body, writes, all, token)
}

// transactBody is what is read of a TransactWriteItems.
type transactBody struct {
	TransactItems          []map[string]writeBody
	ClientRequestToken     string
	ReturnConsumedCapacity string
}

// token is a client token for one database; "" is none.
func (c *call) token(token string) string {
	if token == "" {
		return ""
	}
	return c.database() + "\x00" + token
}

func items(writes []*write) []itemID {
	ids := make([]itemID, len(writes))
	for i, w := range writes {
		ids[i] = w.item()
	}
	return ids
}

// transact sends a transaction that was admitted.
func (c *call) transact(body *transactBody, writes []*write, taken []charge, token string) (*http.Response, error) {
	changed := object{}
	askCapacity(changed, body.ReturnConsumedCapacity, totalCapacity)
	r, err := c.send(changed)
	if err != nil {
		c.l.settle(c.operation, taken, taken) // it may have been written
		c.l.done(token)
		return nil, err
	}
	if r.ok() {
		c.l.done(token)
	}
	c.l.settle(c.operation, taken, c.transactCharges(r, writes))
	if err := r.hideCapacity(body.ReturnConsumedCapacity, totalCapacity); err != nil {
		return nil, err
	}
	return r.response()
}

// maxTransaction is the most actions that the engine takes.
const maxTransaction = 100

// transactWrites makes out the actions and the items before them. It fails with
// errRefused for what the engine will not take.
func (c *call) transactWrites(actions []map[string]writeBody) ([]*write, error) {
	if len(actions) == 0 || len(actions) > maxTransaction {
		return nil, errRefused
	}
	writes := make([]*write, len(actions))
	for i, action := range actions {
		if len(action) != 1 {
			return nil, errRefused
		}
		for kind, body := range action {
			w, err := c.newWrite(kind, &body)
			if err != nil {
				return nil, err
			}
			if w == nil {
				return nil, errRefused
			}
			writes[i] = w
		}
	}
	found, err := c.fetch(writes...)
	if err != nil {
		return nil, err
	}
	for _, w := range writes {
		w.look(found[w.id()])
		if w.kind == condition {
			w.after = w.before
		}
	}
	return writes, nil
}

// transactCosts are what the actions cost, each by itself. Indexes follow when the
// transaction is done, with one write.
func (l *Limiter) transactCosts(writes []*write) [][]charge {
	costs := make([][]charge, len(writes))
	for i, w := range writes {
		costs[i] = l.cost(w.table, w.hash, w.before.item, w.after.item)
		costs[i][0].units *= transaction
	}
	return costs
}

// transactCharges are what a transaction cost in the end.
func (c *call) transactCharges(r *reply, writes []*write) []charge {
	switch {
	case !r.ok():
		return c.cancelledCharges(r, writes)
	case r.repeated():
		return c.l.repeatedCharges(writes)
	}
	c.lookAgain(writes)
	return slices.Concat(c.l.transactCosts(writes)...)
}

// lookAgain reads what updates made of their items.
func (c *call) lookAgain(writes []*write) {
	updates := slices.DeleteFunc(slices.Clone(writes), func(w *write) bool { return w.kind != update })
	found, err := c.fetch(updates...)
	if err != nil {
		return // what was made out before has to do
	}
	for _, w := range updates {
		w.after.item = found[w.id()]
	}
}

// cancelledCharges are those of a transaction that the engine refused. Only one
// whose condition failed costs anything.
func (c *call) cancelledCharges(r *reply, writes []*write) []charge {
	var e struct{ CancellationReasons []struct{ Code string } }
	if r.exception() != "TransactionCanceledException" || !understood(r.body, &e) {
		return nil
	}
	if !slices.Contains(e.CancellationReasons, struct{ Code string }{"ConditionalCheckFailed"}) {
		return nil
	}
	return c.l.cancelledCosts(writes)
}

// cancelledCosts go by the items as they are.
func (l *Limiter) cancelledCosts(writes []*write) []charge {
	charges := make([]charge, len(writes))
	for i, w := range writes {
		charges[i] = charge{l.place(w.space, w.hash), true, transaction * blocks(w.before.item.size(), writeBlock)}
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

func (l *Limiter) repeatedCharges(writes []*write) []charge {
	var charges []charge
	for _, w := range writes {
		cost := transaction * blocks(w.before.item.size(), readBlock)
		charges = append(charges, charge{l.place(w.space, w.hash), false, cost})
	}
	return charges
}
