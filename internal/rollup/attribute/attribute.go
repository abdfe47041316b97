// Package attribute makes and reads the attributes of stored items. What is missing, or
// of another type, reads as nothing.
//
//	key := attribute.Key("C#page/home#0", "-")
//	text := attribute.TextOf(item, "seq")            // "" without one
//	at, known := attribute.TimeOf(item, "as_of")
package attribute

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// Item is an item, by the names of its attributes.
type Item = map[string]types.AttributeValue

// Key is the key of an item in the items table or the rollups table.
func Key(pk, sk string) Item { return Item{schema.PK: Text(pk), schema.SK: Text(sk)} }

// Text makes an attribute of type S.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number makes an attribute of type N.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// TextOf returns an attribute of type S, "" for any other.
func TextOf(it Item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// DigitsOf returns an attribute of type N as it is, "" for any other.
func DigitsOf(it Item, name string) string {
	n, _ := it[name].(*types.AttributeValueMemberN)
	if n == nil {
		return ""
	}
	return n.Value
}

// WholeOf returns an attribute that is a whole number of up to 64 bits; ok is false for
// any other.
func WholeOf(it Item, name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(DigitsOf(it, name), 10, 64)
	return n, err == nil
}

// TimeOf returns an attribute with Unix milliseconds, in UTC; ok is false for any other.
func TimeOf(it Item, name string) (t time.Time, ok bool) {
	ms, ok := WholeOf(it, name)
	return time.UnixMilli(ms).UTC(), ok
}

// Unchanged is the condition that an item is there and has these attributes as it had
// them when it was read, with the names and values of the condition.
func Unchanged(read Item, attributes ...string) (condition *string, names map[string]string, values Item) {
	text := "attribute_exists(" + schema.PK + ")"
	names = map[string]string{}
	for _, name := range attributes {
		names["#"+name] = name
		if read[name] == nil {
			text += " AND attribute_not_exists(#" + name + ")"
			continue
		}
		if values == nil {
			values = Item{}
		}
		text += " AND #" + name + " = :" + name
		values[":"+name] = read[name]
	}
	return &text, names, values
}
