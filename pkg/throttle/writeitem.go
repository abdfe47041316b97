package throttle

import (
	"maps"
	"net/http"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// single is a PutItem, UpdateItem or DeleteItem.
type single struct {
	*call
	*write
	in       writeBody
	returns  string // ReturnValues of the request to the engine
	borrowed bool   // the caller did not ask for them
}

// Values of ReturnValues. An absent member is NONE.
const (
	noValues   = "NONE"
	oldValues  = "ALL_OLD"
	newValues  = "ALL_NEW"
	updatedNew = "UPDATED_NEW"
)

var singleKinds = map[string]string{"PutItem": put, "UpdateItem": update, "DeleteItem": remove}

func writeItem(c *call) (*http.Response, error) {
	s := &single{call: c}
	if !decode(c.body, &s.in) {
		return c.passThrough()
	}
	var err error
	if s.write, err = c.newWrite(singleKinds[c.operation], &s.in); err != nil {
		return c.passOrFail(err)
	}
	return s.sendAdmitted()
}

func (s *single) sendAdmitted() (*http.Response, error) {
	if s.mustFetch() {
		if err := s.fetchItems(s.write); err != nil {
			return s.passOrFail(err)
		}
	}
	reserved := s.least()
	if denied := s.l.gate.Admit(reserved); denied != nil {
		s.l.countThrottledWrites(denied)
		return s.throttle(denied)
	}
	if !s.l.holds.BeginWrite(s.id()) {
		s.settleCharges(reserved, reserved[:1])
		return s.conflict()
	}
	defer s.l.holds.EndWrite(s.id())
	report := capacity{s.in.ReturnConsumedCapacity, indexesCapacity}
	if s.isSmallPut() {
		report.wanted = ""
	}
	r, err := s.forward(s.withReturnValues(), report, reserved)
	if err != nil {
		return nil, err
	}
	s.settleCharges(reserved, s.charges(r, reserved))
	s.removeUnasked(r)
	return r.response(report)
}

// mustFetch reports whether the item before the write is needed and not in the response. One
// case is a partition of an index that may have no capacity. The other is an update of an index
// key whose effect is not in its request.
func (s *single) mustFetch() bool {
	if s.l.gate.Dry(s.global) || s.computesIndexKey() {
		return true
	}
	switch s.in.ReturnValues {
	case "", noValues, oldValues:
		return false
	}
	for name := range s.changes {
		if s.inIndexKey(name) {
			return true
		}
	}
	return false
}

// least returns the least cost of the write that is known before it.
func (s *single) least() []partitions.Charge {
	if s.knowsBefore {
		return s.cost()
	}
	return []partitions.Charge{s.at.Writes(blocks(dynamo.Size(s.after), writeBlock))}
}

// isSmallPut reports whether the write is a small put on a table without indexes. Its cost is calculated from the old
// item, which the engine returns in less time than the consumed capacity.
func (s *single) isSmallPut() bool {
	return s.kind == put && len(s.indexes) == 0 && len(s.body) <= 4*writeBlock
}

// withReturnValues returns the changed members of the request, so that the response has the
// item before or after the write.
func (s *single) withReturnValues() object {
	changed := object{}
	if f := s.in.ReturnValuesOnConditionCheckFailure; s.in.conditional() && (f == "" || f == noValues) {
		changed["ReturnValuesOnConditionCheckFailure"] = quoted(oldValues)
	}
	s.returns = s.in.ReturnValues
	if (len(s.global) > 0 || s.isSmallPut()) && (s.returns == "" || s.returns == noValues) {
		s.returns, s.borrowed = oldValues, true
		if s.kind == update && s.knowsBefore {
			s.returns = newValues
		}
		changed["ReturnValues"] = quoted(s.returns)
	}
	return changed
}

// removeUnasked removes from the response what the caller did not ask for.
func (s *single) removeUnasked(r *reply) {
	if f := s.in.ReturnValuesOnConditionCheckFailure; (f == "" || f == noValues) && !r.ok() {
		r.remove("Item")
	}
	if s.borrowed {
		r.remove("Attributes")
	}
}

// charges returns the write's true charges.
func (s *single) charges(r *reply, reserved []partitions.Charge) []partitions.Charge {
	base := s.at.Writes(0)
	switch {
	case r.exception() == "ConditionalCheckFailedException":
		var failed struct{ Item dynamo.Item }
		decode(r.text, &failed)
		base.Units = blocks(dynamo.Size(failed.Item), writeBlock)
		return []partitions.Charge{base}
	case !r.ok():
		return nil
	case s.isSmallPut():
		s.learnImages(r)
		return s.cost()
	}
	consumed := r.consumed()
	if len(consumed) != 1 || consumed[0].Table == nil {
		return reserved // the engine does not report it
	}
	base.Units = partitions.ToUnits(consumed[0].Table.CapacityUnits)
	for _, local := range consumed[0].LocalSecondaryIndexes {
		base.Units += partitions.ToUnits(local.CapacityUnits)
	}
	return append([]partitions.Charge{base}, s.indexCharges(r, consumed[0].GlobalSecondaryIndexes)...)
}

// indexCharges distributes each global index's consumed capacity over two partitions: the
// entry's old one and its new one. The engine also charges items that swap one half of the
// index's key for the other. They were never in the index and cost nothing.
func (s *single) indexCharges(r *reply, consumed map[string]used) []partitions.Charge {
	var charges []partitions.Charge
	known := false
	for _, x := range s.indexes {
		total := partitions.ToUnits(consumed[x.name].CapacityUnits)
		if total == 0 { // a local index has no capacity of its own
			continue
		}
		if !known {
			s.learnImages(r)
			known = true
		}
		costs := x.cost(s.before, s.after)
		if key, ok := ddbstream.IndexKey(&x.rule, image(s.after)); ok && len(costs) == 0 {
			costs = []partitions.Charge{x.Place(string(key)).Writes(total)} // the change is unknown
		}
		if len(costs) > 0 || !s.knowsBefore {
			charges = append(charges, spread(costs, total, x.Space)...)
		}
	}
	return charges
}

// spread makes costs add up to a total: the last gets the rest. Without costs, all partitions
// share the total.
func spread(costs []partitions.Charge, total partitions.Units, s *partitions.Space) []partitions.Charge {
	if len(costs) == 0 {
		return []partitions.Charge{s.Everywhere().Writes(total)}
	}
	last := len(costs) - 1
	for i := range costs[:last] {
		costs[i].Units = min(costs[i].Units, total)
		total -= costs[i].Units
	}
	costs[last].Units = total
	return costs
}

// learnImages finds the item before and after a finished write.
func (s *single) learnImages(r *reply) {
	var got struct{ Attributes dynamo.Item }
	decode(r.text, &got)
	switch {
	case s.returns == newValues:
		s.setAfter(got.Attributes)
	case s.returns == updatedNew && s.knowsBefore:
		maps.Copy(s.after, got.Attributes)
	case s.kind == update && (s.computesIndexKey() || s.returns != oldValues && !s.knowsBefore):
		if found, err := s.fetch(s.write); err == nil {
			s.setAfter(found[s.id()])
		}
	case s.returns == oldValues:
		s.setBefore(got.Attributes)
	}
}

// computesIndexKey reports whether an update computes an index key, so that its request does
// not have the new value.
func (s *single) computesIndexKey() bool {
	for name, c := range s.changes {
		if c.computed() && s.inIndexKey(name) {
			return true
		}
	}
	return false
}

// setAfter sets the item after an update. If the item before is unknown, the update did not
// change index keys, so after stands in for it.
func (s *single) setAfter(after dynamo.Item) {
	s.after = after
	if !s.knowsBefore {
		s.knowsBefore, s.before = true, after
	}
}
