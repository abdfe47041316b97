package dynamo

import (
	"bytes"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/decimal"
)

// compareNumbers compares numbers by value. A text that is not a number is compared as text.
func compareNumbers(a, b string) int {
	n, ok1 := decimal.Parse(a)
	m, ok2 := decimal.Parse(b)
	if !ok1 || !ok2 {
		return strings.Compare(a, b)
	}
	return decimal.Compare(n, m)
}

// CompareValues compares sort keys as DynamoDB does: text and binary by their bytes, numbers by
// value. Both values must have the same type.
func CompareValues(a, b types.AttributeValue) int {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(a.Value, b.Value)
		}
	case *types.AttributeValueMemberB:
		if b, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(a.Value, b.Value)
		}
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return compareNumbers(a.Value, b.Value)
		}
	}
	return 0
}
