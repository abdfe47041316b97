package throttle

import (
	"net/http"
	"slices"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// single is a PutItem, UpdateItem or DeleteItem.
type single struct {
	*call
	*write
	in       writeBody
	borrowed bool // the limiter asked for the item before the write, and the caller did not
}

// Values of ReturnValues. An absent member is NONE.
const (
	noValues  = "NONE"
	oldValues = "ALL_OLD"
	newValues = "ALL_NEW"
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
	if s.mustRefetch() || s.l.gate.Dry(s.global) {
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
	report := capacity{}
	if !s.exact() {
		report = capacity{s.in.ReturnConsumedCapacity, indexesCapacity}
	}
	r, err := s.forward(s.askForOldItem(), report, reserved)
	if err != nil {
		return nil, err
	}
	s.settleCharges(reserved, s.charges(r, reserved))
	s.removeUnasked(r)
	return r.response(report)
}

// exact reports whether the cost follows from the request and the item before the write. An update may compute values,
// and its caller may ask for others than the old ones.
func (s *single) exact() bool {
	if s.kind != update {
		return true
	}
	for _, c := range s.changes {
		if c.computed() {
			return false
		}
	}
	return slices.Contains([]string{"", noValues, oldValues}, s.in.ReturnValues)
}

// mustRefetch reports whether the write may change entries of indexes in a way that its response does not show.
func (s *single) mustRefetch() bool {
	if len(s.global) == 0 || s.exact() {
		return false
	}
	if !slices.Contains([]string{"", noValues, oldValues, newValues}, s.in.ReturnValues) {
		return true
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

// askForOldItem returns the members to change in the request, so that the engine returns the item before the write where
// the cost depends on that item. It sets borrowed if the caller did not ask for the item.
func (s *single) askForOldItem() object {
	changed := object{}
	if f := s.in.ReturnValuesOnConditionCheckFailure; s.in.conditional() && (f == "" || f == noValues) {
		changed["ReturnValuesOnConditionCheckFailure"] = quoted(oldValues)
	}
	if (s.exact() || len(s.global) > 0) && (s.in.ReturnValues == "" || s.in.ReturnValues == noValues) {
		s.borrowed = true
		changed["ReturnValues"] = quoted(oldValues)
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
	var got struct{ Item, Attributes dynamo.Item }
	decode(r.text, &got)
	switch {
	case r.exception() == "ConditionalCheckFailedException":
		return []partitions.Charge{s.at.Writes(blocks(dynamo.Size(got.Item), writeBlock))}
	case !r.ok():
		return nil
	case s.mustRefetch():
		s.refetch(s.write)
		return s.cost()
	}
	s.setBefore(got.Attributes)
	if s.exact() {
		return s.cost()
	}
	return s.measured(r, reserved)
}

// measured returns the charges of an update by the capacity that the engine reported. The update changed no key of a
// global index, so the item before it or after it has that key.
func (s *single) measured(r *reply, reserved []partitions.Charge) []partitions.Charge {
	consumed := r.consumed()
	if len(consumed) != 1 || consumed[0].Table == nil {
		return reserved // the engine does not report it
	}
	base := s.at.Writes(partitions.ToUnits(consumed[0].Table.CapacityUnits))
	for _, local := range consumed[0].LocalSecondaryIndexes {
		base.Units += partitions.ToUnits(local.CapacityUnits)
	}
	charges := []partitions.Charge{base}
	for _, x := range s.indexes {
		total := partitions.ToUnits(consumed[0].GlobalSecondaryIndexes[x.name].CapacityUnits)
		key, ok := ddbstream.IndexKey(&x.rule, image(s.before))
		if !ok { // the update made the entry
			key, ok = ddbstream.IndexKey(&x.rule, image(s.after))
		}
		if ok && total > 0 {
			charges = append(charges, x.Place(string(key)).Writes(total))
		}
	}
	return charges
}
