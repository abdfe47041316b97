package dynamo

import (
	"bytes"
	"cmp"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// numeral is how DynamoDB takes numbers, whose exponents are from -130 to 125. The
// bound keeps what is made of them short.
var numeral = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?0*[0-9]{1,3})?$`)

// maxNumeral bounds the text of a number; DynamoDB's have 38 digits.
const maxNumeral = 500

// ParseNumber reads a number exactly.
func ParseNumber(text string) (*big.Rat, bool) {
	if len(text) > maxNumeral || !numeral.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// plainNumber is a number as DynamoDB gives it back, however it was spelled: 1.7e9 and
// 1700000000.0 are 1700000000. It has neither an exponent nor zeros that say nothing.
func plainNumber(text string) (string, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	n, ok := ParseNumber(text)
	if !ok {
		return "", false
	}
	places, _ := n.FloatPrec() // of a decimal number, all
	return n.FloatString(places), true
}

// compareNumbers is exact: DynamoDB's numbers have 38 digits.
func compareNumbers(a, b string) int {
	n, err1 := strconv.ParseInt(a, 10, 64)
	m, err2 := strconv.ParseInt(b, 10, 64)
	if err1 == nil && err2 == nil {
		return cmp.Compare(n, m)
	}
	x, ok1 := ParseNumber(a)
	y, ok2 := ParseNumber(b)
	if !ok1 || !ok2 {
		return strings.Compare(a, b)
	}
	return x.Cmp(y)
}

// CompareValues orders sort keys as DynamoDB does: text and binary by their bytes,
// numbers by their value. Values of one table have one type.
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
