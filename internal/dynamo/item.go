package dynamo

import (
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// Key is the primary key of an item of hotshard's tables.
func Key(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{schema.PK: String(pk), schema.SK: String(sk)}
}

// String is a text as an attribute.
func String(s string) *types.AttributeValueMemberS { return &types.AttributeValueMemberS{Value: s} }

// Number is a whole number as an attribute.
func Number(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Decimal is a number as an attribute, by its text.
func Decimal(digits string) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: digits}
}

// WholeNumber reads a whole number of any size.
func WholeNumber(it Item, name string) (*big.Int, error) {
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

// Integer reads a number attribute; an absent one is 0.
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

// Text returns an attribute of type S, "" for any other.
func Text(it Item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// Digits returns an attribute of type N as it is, "" for any other.
func Digits(it Item, name string) string {
	n, _ := it[name].(*types.AttributeValueMemberN)
	if n == nil {
		return ""
	}
	return n.Value
}

// Whole returns an attribute that is a whole number of up to 64 bits; ok is false for any
// other.
func Whole(it Item, name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(Digits(it, name), 10, 64)
	return n, err == nil
}

// Truth tells whether an attribute of type BOOL is true; any other is not.
func Truth(it Item, name string) bool {
	b, _ := it[name].(*types.AttributeValueMemberBOOL)
	return b != nil && b.Value
}

// Millis returns an attribute with Unix milliseconds, in UTC; ok is false for any other.
func Millis(it Item, name string) (t time.Time, ok bool) {
	ms, ok := Whole(it, name)
	return time.UnixMilli(ms).UTC(), ok
}

// Expired tells whether an item's time is over: TTL removes late.
func Expired(it Item, now time.Time) bool {
	at, ok := Whole(it, schema.ExpiresAt)
	return ok && at <= now.Unix()
}

// Item is an item, by the names of its attributes.
type Item = map[string]types.AttributeValue

// Attribute is the text of a text or number attribute. A number's is how DynamoDB
// spells it: an item has its write shard by its value, before and after it is stored.
func Attribute(it Item, name string) (string, bool) {
	switch v := it[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value, true
	case *types.AttributeValueMemberN:
		return plainNumber(v.Value)
	}
	return "", false
}

// Apart orders items with equal sort keys, and is the same for the same item: the
// value of the attribute that tells them apart, "" without one.
func Apart(it Item, by string) string {
	text, ok := Attribute(it, by)
	if !ok {
		return ""
	}
	if _, number := it[by].(*types.AttributeValueMemberN); number {
		return "N:" + text
	}
	return "S:" + text
}
