package place

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Identity is the attribute that distinguishes an item from others with its name and sort key. By is "" if the sort key
// alone identifies an item.
type Identity struct {
	By    string
	Value types.AttributeValue
}

// Matches reports whether an item that was read has this identity. A nil item has none.
func (id Identity) Matches(it dynamo.Item) bool {
	if it == nil || id.By == "" {
		return it != nil
	}
	return dynamo.TieValue(it, id.By) == dynamo.TieValue(dynamo.Item{id.By: id.Value}, id.By)
}

// guard is the condition of a write, with the condition's names and values. Without a condition all fields are nil.
type guard struct {
	Condition *string
	Names     map[string]string
	Values    dynamo.Item
}

// Unoccupied returns the condition that no other item is at the place of the write. The guard has no condition if the
// sort key alone identifies an item.
func (id Identity) Unoccupied(partitionKey string) guard {
	if id.By == "" {
		return guard{}
	}
	return guard{
		aws.String("attribute_not_exists(#hotshard) OR #hotshard0 = :hotshard0"),
		map[string]string{"#hotshard": partitionKey, "#hotshard0": id.By}, dynamo.Item{":hotshard0": id.Value},
	}
}

// And returns a guard that also requires a caller's condition, with the condition's names and values. A nil condition
// adds nothing.
func (g guard) And(condition *string, names map[string]string, values dynamo.Item) guard {
	both := guard{g.Condition, merged(g.Names, names), merged(g.Values, values)}
	switch {
	case g.Condition == nil:
		both.Condition = condition
	case condition != nil:
		joined := "(" + *g.Condition + ") AND (" + *condition + ")"
		both.Condition = &joined
	}
	return both
}

// merged returns a map with the entries of both; b's value wins.
func merged[V any](a, b map[string]V) map[string]V {
	if len(a)+len(b) == 0 {
		return nil
	}
	all := map[string]V{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// TakenError returns the error of a write to a place that another item has.
func (id Identity) TakenError() error {
	return fmt.Errorf("%w: the write shard has an item with the same sort key, but another %s: let sort keys end in the %[2]s, as Stamp.Key makes them",
		shard.ErrMisused, id.By)
}

// word matches a name, a placeholder or a keyword of an expression.
var word = regexp.MustCompile(`[#:.]?[A-Za-z0-9_]+`)

// expressionWithIdentity returns the update's expression, which also sets the identity's attribute, so that a created
// item has the attribute. An expression that already names the attribute stays as it is.
func (id Identity) expressionWithIdentity(in *dynamodb.UpdateItemInput) string {
	expression := aws.ToString(in.UpdateExpression)
	afterSet := -1 // index after the keyword SET
	for _, bounds := range word.FindAllStringIndex(expression, -1) {
		name := expression[bounds[0]:bounds[1]]
		if strings.EqualFold(name, "SET") {
			afterSet = bounds[1]
		}
		if name == id.By || in.ExpressionAttributeNames[name] == id.By {
			return expression
		}
	}
	if afterSet < 0 {
		return strings.TrimSpace("SET #hotshard0 = :hotshard0 " + expression)
	}
	return expression[:afterSet] + " #hotshard0 = :hotshard0," + expression[afterSet:]
}

// GuardUpdate prevents an update from changing another item, and from creating an item without the identity's attribute.
func (id Identity) GuardUpdate(in *dynamodb.UpdateItemInput, partitionKey string) {
	if id.By == "" {
		return
	}
	expression := id.expressionWithIdentity(in)
	g := id.Unoccupied(partitionKey).And(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	in.UpdateExpression, in.ConditionExpression = &expression, g.Condition
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.Names, g.Values
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
}
