package document

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxItem is the largest item that DynamoDB takes, in bytes.
const MaxItem = 400 * 1024

// Size is an upper bound of an item's size by DynamoDB's rules, in bytes: names
// and texts count their UTF-8 bytes, a number a byte for every two digits and
// two more, a list or map three and one more an element.
func Size(object Object) int {
	size := 0
	for name, v := range object {
		size += len(name) + valueSize(v)
	}
	return size
}

func valueSize(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		digits := strings.Count(v.Value, "") - 1
		return min(digits/2+2, 21)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberL:
		size := 3
		for _, e := range v.Value {
			size += 1 + valueSize(e)
		}
		return size
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + Size(v.Value)
	}
	return 1
}
