package place

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Identity is what distinguishes an item from others with its name and sort key: attributes with
// their values. It is empty if the sort key alone identifies an item.
type Identity dynamo.Item

// Matches reports whether an item that was read has this identity.
func (id Identity) Matches(it dynamo.Item) bool {
	if it == nil {
		return false
	}
	for by := range id {
		if dynamo.TieValue(it, by) != dynamo.TieValue(dynamo.Item(id), by) {
			return false
		}
	}
	return true
}

// guard is a condition of a write, with its names and values; all nil if there is no condition.
type guard struct {
	Condition *string
	Names     map[string]string
	Values    dynamo.Item
}

// Present returns the condition that the item is at the place of the write.
func (id Identity) Present(partitionKey string) guard {
	g := guard{Names: map[string]string{"#hotshard": partitionKey}}
	terms := []string{"attribute_exists(#hotshard)"}
	for i, by := range slices.Sorted(maps.Keys(id)) {
		name, value := "#hotshard"+strconv.Itoa(i), ":hotshard"+strconv.Itoa(i)
		terms = append(terms, name+" = "+value)
		g.Names[name] = by
		if g.Values == nil {
			g.Values = dynamo.Item{}
		}
		g.Values[value] = id[by]
	}
	condition := strings.Join(terms, " AND ")
	g.Condition = &condition
	return g
}

// Unoccupied returns the condition that no other item is there; it is empty if the sort key alone
// identifies an item.
func (id Identity) Unoccupied(partitionKey string) guard {
	if len(id) == 0 {
		return guard{}
	}
	g := id.Present(partitionKey)
	condition := "attribute_not_exists(#hotshard) OR (" + *g.Condition + ")"
	g.Condition = &condition
	return g
}

// And returns the guard combined with a caller's condition, names and values.
func (g guard) And(condition *string, names map[string]string, values dynamo.Item) guard {
	both := guard{g.Condition, Merged(g.Names, names), Merged(g.Values, values)}
	switch {
	case g.Condition == nil:
		both.Condition = condition
	case condition != nil:
		joined := "(" + *g.Condition + ") AND (" + *condition + ")"
		both.Condition = &joined
	}
	return both
}

// Merged returns a map with the entries of both; b's value wins.
func Merged[V any](a, b map[string]V) map[string]V {
	if len(a)+len(b) == 0 {
		return nil
	}
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return all
}

// TakenError returns the error of a write to a place that another item has.
func (id Identity) TakenError() error {
	return fmt.Errorf("%w: another item with its sort key, and another %s, is on its write shard: let sort keys end in the %[2]s, as Stamp.Key makes them",
		shard.ErrMisused, strings.Join(slices.Sorted(maps.Keys(id)), ", "))
}

// word matches a name, a placeholder or a keyword of an expression.
var word = regexp.MustCompile(`[#:.]?[A-Za-z0-9_]+`)

// SetIdentity returns the update's expression, extended so that a created item gets the identity's
// attributes, unless the expression sets them itself.
func (id Identity) SetIdentity(in *dynamodb.UpdateItemInput) string {
	expression := aws.ToString(in.UpdateExpression)
	set := -1 // index after the keyword
	var own []string
	for _, at := range word.FindAllStringIndex(expression, -1) {
		w := expression[at[0]:at[1]]
		if strings.EqualFold(w, "SET") {
			set = at[1]
		}
		if name, ok := in.ExpressionAttributeNames[w]; ok {
			w = name
		}
		own = append(own, w)
	}
	var terms []string
	for i, by := range slices.Sorted(maps.Keys(id)) {
		if !slices.Contains(own, by) {
			terms = append(terms, fmt.Sprintf("#hotshard%d = :hotshard%[1]d", i))
		}
	}
	switch list := strings.Join(terms, ", "); {
	case list == "":
		return expression
	case set < 0:
		return strings.TrimSpace("SET " + list + " " + expression)
	default:
		return expression[:set] + " " + list + "," + expression[set:]
	}
}

// GuardUpdate prevents an update from changing another item, and from creating an item without the
// identity's attributes.
func (id Identity) GuardUpdate(in *dynamodb.UpdateItemInput, partitionKey string) {
	if len(id) == 0 {
		return
	}
	expression := id.SetIdentity(in)
	g := id.Unoccupied(partitionKey).And(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	in.UpdateExpression, in.ConditionExpression = &expression, g.Condition
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.Names, g.Values
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
}
