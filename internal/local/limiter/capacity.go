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

// askCapacity changes a request so that the answer says what was consumed, at
// least in the detail wanted. A value that it does not know is left for the engine to refuse.
func askCapacity(changed object, asked, wanted string) {
	if asked == "" || asked == noCapacity || asked == totalCapacity && wanted == indexesCapacity {
		changed["ReturnConsumedCapacity"] = quoted(wanted)
	}
}

// hideCapacity leaves in the answer to one item's request, or a query, what the caller asked for.
func (r *reply) hideCapacity(asked, wanted string) error {
	switch {
	case asked == "" || asked == noCapacity:
		r.remove("ConsumedCapacity")
	case asked == totalCapacity && wanted == indexesCapacity:
		var c consumption
		text, ok := r.members["ConsumedCapacity"]
		if !ok {
			return nil
		}
		if !understood(text, &c) {
			return fmt.Errorf("the engine's ConsumedCapacity is not understood: %.200s", text)
		}
		c.Table, c.LocalSecondaryIndexes, c.GlobalSecondaryIndexes = nil, nil, nil
		return r.set("ConsumedCapacity", c)
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
