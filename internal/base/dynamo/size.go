package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/decimal"
)

// MaxItem is DynamoDB's largest size of an item, in bytes.
const MaxItem = 400 * 1024

// The overhead of documents, in bytes, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
const (
	documentSize = 3 // of a list or a map
	elementSize  = 1 // of an element of a list or a map
)

// Size returns the item's size by DynamoDB's rules, in bytes. [decimal.Number.Size] is the size of a number.
func Size(it Item) int {
	size := 0
	for name, v := range it {
		size += len(name) + valueSize(v)
	}
	return size
}

func valueSize(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		return sizeOfAll(v.Value, func(s string) int { return len(s) })
	case *types.AttributeValueMemberNS:
		return sizeOfAll(v.Value, numberSize)
	case *types.AttributeValueMemberBS:
		return sizeOfAll(v.Value, func(b []byte) int { return len(b) })
	case *types.AttributeValueMemberL:
		return documentSize + len(v.Value)*elementSize + sizeOfAll(v.Value, valueSize)
	case *types.AttributeValueMemberM:
		return documentSize + len(v.Value)*elementSize + Size(v.Value)
	}
	return 1 // a BOOL or NULL
}

// numberSize returns 1 for a text that is not a number.
func numberSize(text string) int {
	n, _ := decimal.Parse(text)
	return n.Size()
}

func sizeOfAll[T any](elements []T, size func(T) int) (sum int) {
	for _, e := range elements {
		sum += size(e)
	}
	return sum
}
