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

func Text(it Item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// Expired tells whether an item's time is over: TTL removes late.
func Expired(it Item, now time.Time) bool {
	n, ok := it[schema.ExpiresAt].(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	at, err := strconv.ParseInt(n.Value, 10, 64)
	return err == nil && at <= now.Unix()
}

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
