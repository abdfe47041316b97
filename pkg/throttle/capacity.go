package throttle

import (
	"fmt"

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// consumption is the ConsumedCapacity of one table.
type consumption struct {
	TableName              string
	CapacityUnits          float64
	Table                  *used           `json:",omitzero"`
	LocalSecondaryIndexes  map[string]used `json:",omitzero"`
	GlobalSecondaryIndexes map[string]used `json:",omitzero"`
}

type used struct{ CapacityUnits float64 }

// none is the default of ReturnConsumedCapacity, ReturnValues and ReturnValuesOnConditionCheckFailure.
const none = "NONE"

// isNone reports whether a request's member with the default NONE is absent or NONE.
func isNone(member string) bool { return member == "" || member == none }

// Other values of ReturnConsumedCapacity.
const (
	totalCapacity   = "TOTAL"
	indexesCapacity = "INDEXES"
)

// capacityReport has the values of ReturnConsumedCapacity that the caller and the limiter want. The zero value leaves
// requests and responses unchanged.
type capacityReport struct{ caller, limiter string }

// callerWantsTotal reports whether the caller wants only totals, and the limiter the capacity of each index.
func (c capacityReport) callerWantsTotal() bool {
	return c.caller == totalCapacity && c.limiter == indexesCapacity
}

// requestIn sets ReturnConsumedCapacity among a request's changed members if the limiter wants more than the caller. An
// unknown value of the caller is left to the engine, which rejects it.
func (c capacityReport) requestIn(changed object) {
	callerWantsLess := isNone(c.caller) || c.callerWantsTotal()
	if c.limiter != "" && callerWantsLess {
		changed["ReturnConsumedCapacity"] = quoted(c.limiter)
	}
}

// hideUnasked removes from the response's ConsumedCapacity what only the limiter wanted.
func (c capacityReport) hideUnasked(r *reply) error {
	text := r.member("ConsumedCapacity")
	if text == nil || c.limiter == "" {
		return nil
	}
	if isNone(c.caller) {
		r.removeMember("ConsumedCapacity")
	}
	if !c.callerWantsTotal() {
		return nil
	}
	var consumed consumption
	if !decode(text, &consumed) {
		return fmt.Errorf("can't decode the engine's ConsumedCapacity: %.200s", text)
	}
	consumed.Table, consumed.LocalSecondaryIndexes, consumed.GlobalSecondaryIndexes = nil, nil, nil
	r.setMember("ConsumedCapacity", consumed)
	return nil
}

// consumed returns the response's ConsumedCapacity by table, or nil if it has none. Batches and transactions have a
// list, other responses an object.
func (r *reply) consumed() []consumption {
	text := r.member("ConsumedCapacity")
	if text.Kind() == '[' {
		var list []consumption
		if !decode(text, &list) {
			return nil
		}
		return list
	}
	var single consumption
	if !decode(text, &single) {
		return nil
	}
	return []consumption{single}
}

// reportedUnits returns the sum of the response's ConsumedCapacity.
func (r *reply) reportedUnits() (sum partitions.Units) {
	for _, consumed := range r.consumed() {
		sum += partitions.ToUnits(consumed.CapacityUnits)
	}
	return sum
}

// Prices, from https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
const (
	writeBlock        = 1024                // bytes of an item for which one write unit pays
	readBlock         = 4096                // bytes of an item for which one read unit pays
	eventualRead      = partitions.Unit / 2 // an eventually consistent read of one block
	transactionFactor = 2                   // for operations in a transaction
)

// unitsFor returns the cost of an item of a size in bytes: one unit for each started block of blockSize bytes, and one
// unit for an item that does not exist.
func unitsFor(size, blockSize int) partitions.Units {
	return max(1, partitions.Units((size+blockSize-1)/blockSize)) * partitions.Unit
}
