package limiter

import (
	"maps"
	"net/http"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// single is a PutItem, UpdateItem or DeleteItem.
type single struct {
	*call
	*write
	in       writeBody
	returns  string // ReturnValues as the engine is asked
	borrowed bool   // the caller did not ask for those
}

// Values of ReturnValues. No member is the same as none.
const (
	noValues   = "NONE"
	oldValues  = "ALL_OLD"
	newValues  = "ALL_NEW"
	updatedNew = "UPDATED_NEW"
)

var singleKinds = map[string]string{"PutItem": put, "UpdateItem": update, "DeleteItem": remove}

func writeItem(c *call) (*http.Response, error) {
	s := &single{call: c}
	if !understood(c.body, &s.in) {
		return c.pass()
	}
	var err error
	if s.write, err = c.newWrite(singleKinds[c.operation], &s.in); err != nil {
		return c.giveUp(err)
	}
	return s.do()
}

func (s *single) do() (*http.Response, error) {
	if s.mustLook() {
		found, err := s.fetch(s.write)
		if err != nil {
			return s.giveUp(err)
		}
		s.look(found[s.id()])
	}
	taken := s.least()
	if denied := s.l.gate.Admit(taken); denied != nil {
		return s.refuse(denied)
	}
	if !s.l.holds.BeginWrite(s.held()) {
		s.l.settle(s.operation, taken, taken[:1])
		return s.conflict()
	}
	defer s.l.holds.EndWrite(s.held())
	tell := capacity{s.in.ReturnConsumedCapacity, indexesCapacity}
	r, err := s.forward(s.question(), tell, taken)
	if err != nil {
		return nil, err
	}
	s.l.settle(s.operation, taken, s.charges(r, taken))
	s.tidy(r)
	return r.response(tell)
}

// mustLook tells whether the item before the write matters and can't be had
// from the answer: where a partition of an index may be dry, and for an update
// of an index key whose effect is not in its request.
func (s *single) mustLook() bool {
	if s.l.gate.Dry(s.global) || s.computesIndexKey() {
		return true
	}
	switch s.in.ReturnValues {
	case "", noValues, oldValues:
		return false
	}
	for name := range s.changes {
		if s.indexKey(name) {
			return true
		}
	}
	return false
}

// least is what the write costs at least, as far as it is known by now.
func (s *single) least() []partitions.Charge {
	if s.looked {
		return s.cost()
	}
	return []partitions.Charge{s.at.Writes(blocks(s.after.Size(), writeBlock))}
}

// question returns the members of the request that are changed so that the
// answer tells which items the write found or left.
func (s *single) question() object {
	changed := object{}
	if f := s.in.ReturnValuesOnConditionCheckFailure; f == "" || f == noValues {
		changed["ReturnValuesOnConditionCheckFailure"] = quoted(oldValues)
	}
	s.returns = s.in.ReturnValues
	if len(s.global) > 0 && (s.returns == "" || s.returns == noValues) {
		s.returns, s.borrowed = oldValues, true
		if s.kind == update && s.looked {
			s.returns = newValues
		}
		changed["ReturnValues"] = quoted(s.returns)
	}
	return changed
}

// tidy takes out of the answer what the caller had not asked for.
func (s *single) tidy(r *reply) {
	if f := s.in.ReturnValuesOnConditionCheckFailure; (f == "" || f == noValues) && !r.ok() {
		r.remove("Item")
	}
	if s.borrowed {
		r.remove("Attributes")
	}
}

// charges are what the write cost.
func (s *single) charges(r *reply, taken []partitions.Charge) []partitions.Charge {
	base := s.at.Writes(0)
	switch {
	case r.exception() == "ConditionalCheckFailedException":
		var failed struct{ Item jsonitem.Item }
		understood(r.body, &failed)
		base.Units = blocks(failed.Item.Size(), writeBlock)
		return []partitions.Charge{base}
	case !r.ok():
		return nil
	}
	consumed := r.consumed()
	if len(consumed) != 1 || consumed[0].Table == nil {
		return taken // an engine that does not tell
	}
	base.Units = partitions.ToUnits(consumed[0].Table.CapacityUnits)
	for _, local := range consumed[0].LocalSecondaryIndexes {
		base.Units += partitions.ToUnits(local.CapacityUnits)
	}
	return append([]partitions.Charge{base}, s.indexCharges(r, consumed[0].GlobalSecondaryIndexes)...)
}

// indexCharges spread what each global index consumed over its partitions: the
// one that the entry left and the one that it went to. The engine also charges
// items that swap one half of the index's key for the other; they were never in
// the index, and cost nothing.
func (s *single) indexCharges(r *reply, consumed map[string]used) []partitions.Charge {
	var charges []partitions.Charge
	known := false
	for _, x := range s.indexes {
		total := partitions.ToUnits(consumed[x.name].CapacityUnits)
		if x.local() || total == 0 {
			continue
		}
		if !known {
			s.learn(r)
			known = true
		}
		costs := x.entryCosts(s.before, s.after)
		if len(costs) > 0 || !s.looked {
			charges = append(charges, spread(costs, total, x.Space)...)
		}
	}
	return charges
}

// spread makes costs add up to a total by changing the last. Without costs
// nothing is known but the total.
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

// learn finds the item before and after a write, when it is done.
func (s *single) learn(r *reply) {
	var got struct{ Attributes jsonitem.Item }
	understood(r.body, &got)
	switch {
	case s.returns == newValues:
		s.became(got.Attributes)
	case s.returns == updatedNew && s.looked:
		maps.Copy(s.after, got.Attributes)
	case s.kind == update && (s.computesIndexKey() || s.returns != oldValues && !s.looked):
		if found, err := s.fetch(s.write); err == nil {
			s.became(found[s.id()])
		}
	case s.returns == oldValues:
		s.look(got.Attributes)
	}
}

// computesIndexKey tells whether an update's request does not say what a key of
// an index will be.
func (s *single) computesIndexKey() bool {
	for name, c := range s.changes {
		if c.Computed() && s.indexKey(name) {
			return true
		}
	}
	return false
}

// became notes the item after an update. One whose item before is not known
// left the keys of indexes alone.
func (s *single) became(after jsonitem.Item) {
	s.after = after
	if !s.looked {
		s.looked, s.before = true, after
	}
}
