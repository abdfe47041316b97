package place

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/hotshard/hotshard/internal/base/decimal"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Place is the stored primary key of an item that may exist.
type Place struct {
	PK      string
	Sort    types.AttributeValue
	Attempt shard.Attempt // of a write to the place; a write with an empty Key is not observed
}

// Position is an item's position in a range, which is ordered by sort key, then tie-breaking attribute, then write
// shard. Sort key and attribute do not change with the shard count, so a cursor stays valid after a change.
type Position struct {
	Sort  types.AttributeValue
	Tie   string // what dynamo.TieValue returns; "" without a tie-breaking attribute
	Shard int
}

// LastTie sorts after all results of dynamo.TieValue.
const LastTie = "~"

// Compare returns a negative number if p comes before q, a positive one if after, 0 if equal.
func (p Position) Compare(q Position) int {
	if c := dynamo.CompareValues(p.Sort, q.Sort); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(p.Tie, q.Tie), cmp.Compare(p.Shard, q.Shard))
}

// typeAndText returns a sort key's type and text.
func typeAndText(v types.AttributeValue) (kind, text string) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return "S", v.Value
	case *types.AttributeValueMemberN:
		return "N", v.Value
	case *types.AttributeValueMemberB:
		return "B", string(v.Value)
	}
	return "", ""
}

// SortText returns a sort key's text, for errors.
func SortText(v types.AttributeValue) string {
	_, text := typeAndText(v)
	return text
}

// String returns the form in Span.After: <shard>:<type>:<sort key>. With a tie-breaking attribute the form is
// <shard>:<type><length of Tie>:<Tie><sort key>.
func (p Position) String() string {
	kind, sort := typeAndText(p.Sort)
	if p.Tie != "" {
		kind += strconv.Itoa(len(p.Tie))
	}
	return strconv.Itoa(p.Shard) + ":" + kind + ":" + p.Tie + sort
}

// ParsePosition parses the result of String. It returns ErrMisused for any other text.
func ParsePosition(s string) (Position, error) {
	malformed := fmt.Errorf("%w: Span.After %q is malformed: pass the Next of the previous page", shard.ErrMisused, s)
	parts, err := shard.Decompose(":", s, 3)
	if err != nil || parts[1] == "" {
		return Position{}, malformed
	}
	kind, length, rest := parts[1][:1], parts[1][1:], parts[2]
	n, err1 := strconv.Atoi(parts[0])
	size, err2 := strconv.Atoi("0" + length) // 0 without a tie-breaking attribute, which has no length
	if err1 != nil || err2 != nil || size > len(rest) {
		return Position{}, malformed
	}
	sort, ok := sortValue(kind, rest[size:])
	if !ok {
		return Position{}, malformed
	}
	return Position{Sort: sort, Tie: rest[:size], Shard: n}, nil
}

// sortValue returns a sort key from its type and text.
func sortValue(kind, text string) (types.AttributeValue, bool) {
	switch kind {
	case "S":
		return &types.AttributeValueMemberS{Value: text}, true
	case "N":
		_, ok := decimal.Parse(text)
		return &types.AttributeValueMemberN{Value: text}, ok
	case "B":
		return &types.AttributeValueMemberB{Value: []byte(text)}, true
	}
	return nil, false
}
