package throttle

import (
	"net/http"
	"slices"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// singleWrite is a PutItem, UpdateItem or DeleteItem.
type singleWrite struct {
	*call
	*write
	body           writeBody
	hideAttributes bool // the limiter asked for the item before the write, and the caller did not
}

// Values of ReturnValues other than NONE.
const (
	oldValues = "ALL_OLD"
	newValues = "ALL_NEW"
)

var singleKinds = map[string]string{"PutItem": put, "UpdateItem": update, "DeleteItem": remove}

func writeItem(c *call) (*http.Response, error) {
	s := &singleWrite{call: c}
	if !decode(c.body, &s.body) {
		return c.passThrough()
	}
	var err error
	if s.write, err = c.newWrite(singleKinds[c.operation], &s.body); err != nil {
		return c.passOrFail(err)
	}
	return s.admitAndSend()
}

// admitAndSend sends the write if it is admitted, and charges for it.
func (s *singleWrite) admitAndSend() (*http.Response, error) {
	if s.mustRefetch() || s.l.gate.Dry(s.globalIndexes) {
		if err := s.fetchBefore(s.write); err != nil {
			return s.passOrFail(err)
		}
	}
	reserved := s.leastCost()
	if denied := s.l.gate.Admit(reserved); denied != nil {
		s.l.countThrottledWrites(denied)
		return s.throttle(denied)
	}
	if s.l.holds.Blocked(s.id()) != nil {
		s.settleCharges(reserved, reserved[:1]) // a conflict costs the write in the table
		return s.conflict()
	}
	report := capacityReport{}
	if !s.calculable() {
		report = capacityReport{s.body.ReturnConsumedCapacity, indexesCapacity}
	}
	r, err := s.forward(s.askForOldItem(), report, reserved)
	if err != nil {
		return nil, err
	}
	s.settleCharges(reserved, s.charges(r, reserved))
	s.removeUnasked(r)
	return r.response(report)
}

// calculable reports whether the cost follows from the request and the old item in the response. It does not follow if
// an update computes values, or if its caller asks for other values than the old ones.
func (s *singleWrite) calculable() bool {
	if s.kind != update {
		return true
	}
	for _, c := range s.changes {
		if c.value == computed {
			return false
		}
	}
	return isNone(s.body.ReturnValues) || s.body.ReturnValues == oldValues
}

// mustRefetch reports whether the limiter must read the item before and after an update: the table has global indexes,
// the update is not calculable, and it changes an index key or its caller wants only updated attributes.
func (s *singleWrite) mustRefetch() bool {
	if len(s.globalIndexes) == 0 || s.calculable() {
		return false
	}
	if !slices.Contains([]string{"", none, oldValues, newValues}, s.body.ReturnValues) {
		return true
	}
	for name := range s.changes {
		if s.inGlobalKey(name) {
			return true
		}
	}
	return false
}

// leastCost returns the write's charges if the item before it was fetched, or else the table's least possible charge.
func (s *singleWrite) leastCost() []partitions.Charge {
	if s.knowsBefore {
		return s.cost()
	}
	return []partitions.Charge{s.place.Writes(unitsFor(dynamo.Size(s.after), writeBlock))}
}

// askForOldItem returns the request's members to change, so that the engine returns the item before the write if the
// cost depends on it. If the caller did not ask for that item, it sets hideAttributes.
func (s *singleWrite) askForOldItem() object {
	changed := object{}
	if s.body.conditional() && isNone(s.body.ReturnValuesOnConditionCheckFailure) {
		changed["ReturnValuesOnConditionCheckFailure"] = quoted(oldValues)
	}
	needed := s.calculable() || len(s.globalIndexes) > 0
	if needed && isNone(s.body.ReturnValues) {
		s.hideAttributes = true
		changed["ReturnValues"] = quoted(oldValues)
	}
	return changed
}

// removeUnasked removes from the response what the caller did not ask for.
func (s *singleWrite) removeUnasked(r *reply) {
	if !r.ok() && isNone(s.body.ReturnValuesOnConditionCheckFailure) {
		r.removeMember("Item")
	}
	if s.hideAttributes {
		r.removeMember("Attributes")
	}
}

// charges returns what the write costs by the engine's response. A failed condition costs a write of the existing item.
// Other failures cost nothing. If the response does not show the changes of indexes, charges reads the item after the
// write. Otherwise it uses the old item in the response, or the capacity that the engine reported.
func (s *singleWrite) charges(r *reply, reserved []partitions.Charge) []partitions.Charge {
	var got struct{ Item, Attributes dynamo.Item }
	decode(r.text, &got)
	switch {
	case r.exception() == "ConditionalCheckFailedException":
		return []partitions.Charge{s.place.Writes(unitsFor(dynamo.Size(got.Item), writeBlock))}
	case !r.ok():
		return nil
	case s.mustRefetch():
		s.fetchAfter(s.write)
		return s.cost()
	}
	s.setBefore(got.Attributes) // for ALL_NEW the item after the write, which has the same keys in global indexes
	if s.calculable() {
		return s.cost()
	}
	return s.reportedCharges(r, reserved)
}

// reportedCharges returns the charges of an update by the capacity that the engine reported, or reserved if it reported
// none. The update changed no key of a global index, so an index entry's key is in the item before or after the update.
func (s *singleWrite) reportedCharges(r *reply, reserved []partitions.Charge) []partitions.Charge {
	consumed := r.consumed()
	if len(consumed) != 1 || consumed[0].Table == nil {
		return reserved
	}
	base := s.place.Writes(partitions.ToUnits(consumed[0].Table.CapacityUnits))
	for _, local := range consumed[0].LocalSecondaryIndexes {
		base.Units += partitions.ToUnits(local.CapacityUnits)
	}
	charges := []partitions.Charge{base}
	for _, x := range s.indexes {
		total := partitions.ToUnits(consumed[0].GlobalSecondaryIndexes[x.name].CapacityUnits) // 0 for a local index
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
