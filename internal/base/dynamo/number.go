package dynamo

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/decimal"
)

// compareNumbers compares two numbers by value, or as text if one of them is not a number.
func compareNumbers(a, b string) int {
	numberA, isNumberA := decimal.Parse(a)
	numberB, isNumberB := decimal.Parse(b)
	if isNumberA && isNumberB {
		return decimal.Compare(numberA, numberB)
	}
	return strings.Compare(a, b)
}

// CompareValues compares sort keys as DynamoDB does: strings and binary by their bytes, numbers by value. It returns -1, 0
// or 1, and 0 for values of different types.
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

// EqualValues reports whether two values are equal: numbers by value, sets in any order.
func EqualValues(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberN:
		b, ok := b.(*types.AttributeValueMemberN)
		return ok && compareNumbers(a.Value, b.Value) == 0
	case *types.AttributeValueMemberSS:
		b, ok := b.(*types.AttributeValueMemberSS)
		return ok && equalSets(a.Value, b.Value, strings.Compare)
	case *types.AttributeValueMemberNS:
		b, ok := b.(*types.AttributeValueMemberNS)
		return ok && equalSets(a.Value, b.Value, compareNumbers)
	case *types.AttributeValueMemberBS:
		b, ok := b.(*types.AttributeValueMemberBS)
		return ok && equalSets(a.Value, b.Value, bytes.Compare)
	case *types.AttributeValueMemberL:
		b, ok := b.(*types.AttributeValueMemberL)
		return ok && slices.EqualFunc(a.Value, b.Value, EqualValues)
	case *types.AttributeValueMemberM:
		b, ok := b.(*types.AttributeValueMemberM)
		return ok && maps.EqualFunc(a.Value, b.Value, EqualValues)
	}
	return reflect.DeepEqual(a, b)
}

func equalSets[E any](a, b []E, compare func(E, E) int) bool {
	sorted := func(set []E) []E { return slices.SortedFunc(slices.Values(set), compare) }
	return slices.EqualFunc(sorted(a), sorted(b), func(v, w E) bool { return compare(v, w) == 0 })
}
