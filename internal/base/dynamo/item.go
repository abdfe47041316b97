package dynamo

import (
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/decimal"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Key returns the primary key of an item of hotshard's tables.
func Key(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{schema.PK: String(pk), schema.SK: String(sk)}
}

// String returns an attribute of type S.
func String(s string) *types.AttributeValueMemberS { return &types.AttributeValueMemberS{Value: s} }

// Number returns an attribute of type N with this whole number.
func Number(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Decimal returns an attribute of type N with these digits.
func Decimal(digits string) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: digits}
}

// BigInteger returns the value of an attribute with a whole number of any size. It returns an error, which names the
// attribute, if the attribute is absent or has any other value.
func BigInteger(it Item, name string) (*big.Int, error) {
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return nil, fmt.Errorf("attribute %s is not a number", name)
	}
	value, ok := new(big.Int).SetString(n.Value, 10)
	if !ok {
		return nil, fmt.Errorf("attribute %s is not a whole number", name)
	}
	return value, nil
}

// LargestOfSet returns the largest number of an attribute with a set of whole numbers. It returns 0 if the attribute is
// absent, or no number is above 0. It returns an error, which names the attribute, for any other value.
func LargestOfSet(it Item, name string) (largest int, err error) {
	if it[name] == nil {
		return 0, nil
	}
	set, ok := it[name].(*types.AttributeValueMemberNS)
	if !ok {
		return 0, fmt.Errorf("attribute %s is not a number set", name)
	}
	for _, digits := range set.Value {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return 0, fmt.Errorf("attribute %s has a number that is not whole", name)
		}
		largest = max(largest, n)
	}
	return largest, nil
}

// Integer returns the value of an attribute with a whole number of up to 64 bits, or 0 if the attribute is absent. It
// returns an error, which names the attribute, for any other value.
func Integer(it Item, name string) (int64, error) {
	if it[name] == nil {
		return 0, nil
	}
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("attribute %s is not a number", name)
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("attribute %s: %w", name, err)
	}
	return value, nil
}

// Text returns the value of an attribute of type S; "" if the attribute is absent or of another type.
func Text(it Item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// Digits returns the digits of an attribute of type N; "" if the attribute is absent or of another type.
func Digits(it Item, name string) string {
	n, _ := it[name].(*types.AttributeValueMemberN)
	if n == nil {
		return ""
	}
	return n.Value
}

// Whole returns the value of an attribute with a whole number of up to 64 bits. ok is false if the attribute is absent or
// has any other value.
func Whole(it Item, name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(Digits(it, name), 10, 64)
	return n, err == nil
}

// Bool reports whether an attribute is of type BOOL and true.
func Bool(it Item, name string) bool {
	b, _ := it[name].(*types.AttributeValueMemberBOOL)
	return b != nil && b.Value
}

// Millis returns the time, in UTC, of an attribute with Unix milliseconds. ok is false if the attribute is absent or is not
// a whole number.
func Millis(it Item, name string) (t time.Time, ok bool) {
	ms, ok := Whole(it, name)
	return time.UnixMilli(ms).UTC(), ok
}

// Expired reports whether an item's expires_at is past; false without one. DynamoDB deletes an expired item later.
func Expired(it Item, now time.Time) bool {
	expiresAt, ok := Whole(it, schema.ExpiresAt)
	return ok && expiresAt <= now.Unix()
}

// Item is an item's attributes by name.
type Item = map[string]types.AttributeValue

// Attribute returns the text of an attribute of type S or N; ok is false if the attribute is absent or of another type. The
// text of a number is as DynamoDB returns it. So a write shard that is calculated from it is the same before the item is
// stored and after.
func Attribute(it Item, name string) (text string, ok bool) {
	switch v := it[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value, true
	case *types.AttributeValueMemberN:
		n, ok := decimal.Parse(v.Value)
		return n.String(), ok
	}
	return "", false
}

// TieValue returns a text that orders items with equal sort keys: the type and the value of the attribute tieBreaker. It
// returns "" for an item without this attribute.
func TieValue(it Item, tieBreaker string) string {
	text, ok := Attribute(it, tieBreaker)
	if !ok {
		return ""
	}
	if _, isNumber := it[tieBreaker].(*types.AttributeValueMemberN); isNumber {
		return "N:" + text
	}
	return "S:" + text
}
