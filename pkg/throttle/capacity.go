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

// isNone reports whether such a member is absent or NONE.
func isNone(member string) bool { return member == "" || member == none }

// Other values of ReturnConsumedCapacity.
const (
	totalCapacity   = "TOTAL"
	indexesCapacity = "INDEXES"
)

// capacity has two values of ReturnConsumedCapacity. The zero value leaves requests and responses unchanged.
type capacity struct {
	asked  string // by the caller
	wanted string // by the limiter
}

// callerWantsTotal reports whether the caller wants only the sum of what the limiter wants.
func (c capacity) callerWantsTotal() bool {
	return c.asked == totalCapacity && c.wanted == indexesCapacity
}

// requestCapacity sets the request's ReturnConsumedCapacity to what the limiter needs. An unknown value of
// the caller is left to the engine, which rejects it.
func (c capacity) requestCapacity(changed object) {
	if c.wanted != "" && (isNone(c.asked) || c.callerWantsTotal()) {
		changed["ReturnConsumedCapacity"] = quoted(c.wanted)
	}
}

// hide removes from the response the details that the caller did not ask for.
func (c capacity) hide(r *reply) error {
	switch {
	case c.wanted == "":
	case isNone(c.asked):
		r.removeMember("ConsumedCapacity")
	case c.callerWantsTotal():
		var consumed consumption
		text := r.member("ConsumedCapacity")
		if text == nil {
			return nil
		}
		if !decode(text, &consumed) {
			return fmt.Errorf("can't decode the engine's ConsumedCapacity: %.200s", text)
		}
		consumed.Table, consumed.LocalSecondaryIndexes, consumed.GlobalSecondaryIndexes = nil, nil, nil
		r.setMember("ConsumedCapacity", consumed)
	}
	return nil
}

// consumed returns the response's ConsumedCapacity by table, or nil if it has none. Batches and transactions have a list,
// other responses an object.
func (r *reply) consumed() (list []consumption) {
	text := r.member("ConsumedCapacity")
	var one consumption
	switch {
	case text == nil:
		return nil
	case text.Kind() == '[' && decode(text, &list):
		return list
	case decode(text, &one):
		return []consumption{one}
	}
	return nil
}

// reportedUnits returns the sum of the response's ConsumedCapacity.
func (r *reply) reportedUnits() (sum partitions.Units) {
	for _, consumed := range r.consumed() {
		sum += partitions.ToUnits(consumed.CapacityUnits)
	}
	return sum
}

// Bytes for which one unit pays, and the least cost of a read, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
const (
	writeBlock        = 1024
	readBlock         = 4096
	eventualRead      = partitions.Unit / 2
	transactionFactor = 2 // factor for operations in a transaction
)

// unitsFor returns the cost of an item of a size in bytes: one unit for each started block of blockSize bytes, and one unit
// for an item that does not exist.
func unitsFor(size, blockSize int) partitions.Units {
	return max(1, partitions.Units((size+blockSize-1)/blockSize)) * partitions.Unit
}
