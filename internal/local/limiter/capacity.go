package limiter

import (
	"fmt"

	"github.com/hotshard/hotshard/internal/local/partitions"
)

// consumption is what an answer says that a request consumed in one table.
type consumption struct {
	TableName              string
	CapacityUnits          float64
	ReadCapacityUnits      *float64        `json:",omitzero"`
	WriteCapacityUnits     *float64        `json:",omitzero"`
	Table                  *used           `json:",omitzero"`
	LocalSecondaryIndexes  map[string]used `json:",omitzero"`
	GlobalSecondaryIndexes map[string]used `json:",omitzero"`
}

type used struct{ CapacityUnits float64 }

// Values of ReturnConsumedCapacity. No member is the same as none.
const (
	noCapacity      = "NONE"
	totalCapacity   = "TOTAL"
	indexesCapacity = "INDEXES"
)

// capacity says how much an answer is to tell of what was consumed. The zero value leaves that as
// it is.
type capacity struct {
	asked  string // by the caller
	wanted string // by the limiter, at least
}

// ask changes a request so that the answer tells what is wanted. A value of the caller's that
// it does not know is left for the engine to refuse.
func (c capacity) ask(changed object) {
	if c.wanted != "" && (c.asked == "" || c.asked == noCapacity || c.asked == totalCapacity && c.wanted == indexesCapacity) {
		changed["ReturnConsumedCapacity"] = quoted(c.wanted)
	}
}

// hide leaves in the answer what the caller asked for.
func (c capacity) hide(r *reply) error {
	switch {
	case c.wanted == "":
	case c.asked == "" || c.asked == noCapacity:
		r.remove("ConsumedCapacity")
	case c.asked == totalCapacity && c.wanted == indexesCapacity:
		var told consumption
		text, ok := r.members["ConsumedCapacity"]
		if !ok {
			return nil
		}
		if !understood(text, &told) {
			return fmt.Errorf("the engine's ConsumedCapacity is not understood: %.200s", text)
		}
		told.Table, told.LocalSecondaryIndexes, told.GlobalSecondaryIndexes = nil, nil, nil
		return r.set("ConsumedCapacity", told)
	}
	return nil
}

// consumed returns what the answer says was consumed by table; nil if it doesn't.
func (r *reply) consumed() []consumption {
	text := r.members["ConsumedCapacity"]
	var many []consumption
	if understood(text, &many) {
		return many
	}
	var one consumption
	if understood(text, &one) {
		return []consumption{one}
	}
	return nil
}

// Sizes that one unit pays for, and the least that a read pays, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
const (
	writeBlock  = 1024
	readBlock   = 4096
	eventual    = partitions.Unit / 2
	transaction = 2 // times the units of the same operation outside
)

// blocks is what an item of a size in bytes costs: a unit for every block begun,
// and one for an item that does not exist.
func blocks(size, block int) partitions.Units {
	return max(1, partitions.Units((size+block-1)/block)) * partitions.Unit
}
