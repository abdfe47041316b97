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

// Values of ReturnConsumedCapacity. An absent member is NONE.
const (
	noCapacity      = "NONE"
	totalCapacity   = "TOTAL"
	indexesCapacity = "INDEXES"
)

// capacity selects the ConsumedCapacity of a response. The zero value leaves it unchanged.
type capacity struct {
	asked  string // by the caller
	wanted string // by the limiter
}

// requestCapacity sets the request's ReturnConsumedCapacity to what the limiter needs. An unknown value of
// the caller is left to the engine, which rejects it.
func (c capacity) requestCapacity(changed object) {
	if c.wanted != "" && (c.asked == "" || c.asked == noCapacity || c.asked == totalCapacity && c.wanted == indexesCapacity) {
		changed["ReturnConsumedCapacity"] = quoted(c.wanted)
	}
}

// hide removes the details that the caller did not ask for from the response.
func (c capacity) hide(r *reply) error {
	switch {
	case c.wanted == "":
	case c.asked == "" || c.asked == noCapacity:
		r.remove("ConsumedCapacity")
	case c.asked == totalCapacity && c.wanted == indexesCapacity:
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

// consumed returns the response's ConsumedCapacity by table, or nil if it has none.
func (r *reply) consumed() (list []consumption) {
	text := r.member("ConsumedCapacity")
	if text.Kind() != '[' {
		list = make([]consumption, 1)
		if text == nil || !decode(text, &list[0]) {
			return nil
		}
		return list
	}
	if !decode(text, &list) {
		return nil
	}
	return list
}

// reported returns the sum of the response's ConsumedCapacity.
func (r *reply) reported() (sum partitions.Units) {
	for _, consumed := range r.consumed() {
		sum += partitions.ToUnits(consumed.CapacityUnits)
	}
	return sum
}

// Bytes for which one unit pays, and the least cost of a read, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
const (
	writeBlock  = 1024
	readBlock   = 4096
	eventual    = partitions.Unit / 2
	transaction = 2 // factor for operations in a transaction
)

// blocks returns the cost of an item of a size in bytes: a unit for each started block, and one
// unit for an item that does not exist.
func blocks(size, block int) partitions.Units {
	return max(1, partitions.Units((size+block-1)/block)) * partitions.Unit
}
