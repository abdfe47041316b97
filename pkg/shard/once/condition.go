package once

import (
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// condition is a write's condition on an item.
type condition struct {
	table, expression string
	key               dynamo.Item // for a put the whole item, since the key's names are unknown
	names             map[string]string
	values            dynamo.Item // those that the expression uses
}

func conditionOf(w types.TransactWriteItem) condition {
	switch {
	case w.Put != nil:
		return newCondition(w.Put.TableName, w.Put.ConditionExpression, w.Put.Item, w.Put.ExpressionAttributeNames, w.Put.ExpressionAttributeValues)
	case w.Update != nil:
		return newCondition(w.Update.TableName, w.Update.ConditionExpression, w.Update.Key, w.Update.ExpressionAttributeNames, w.Update.ExpressionAttributeValues)
	case w.Delete != nil:
		return newCondition(w.Delete.TableName, w.Delete.ConditionExpression, w.Delete.Key, w.Delete.ExpressionAttributeNames, w.Delete.ExpressionAttributeValues)
	case w.ConditionCheck != nil:
		c := w.ConditionCheck
		return newCondition(c.TableName, c.ConditionExpression, c.Key, c.ExpressionAttributeNames, c.ExpressionAttributeValues)
	}
	return condition{}
}

func newCondition(table, expression *string, key dynamo.Item, names map[string]string, values dynamo.Item) condition {
	c := condition{table: aws.ToString(table), expression: aws.ToString(expression), key: key, names: names, values: dynamo.Item{}}
	for name, value := range values {
		if strings.Contains(c.expression, name) {
			c.values[name] = value
		}
	}
	return c
}

// failsAgain reports whether a condition failed that has failed before in this call. It ignores the
// library's writes, which read their items again. The caller's own have no attempt to observe.
func (t *onceTry) failsAgain(writes []shardmap.Write, err error) bool {
	for _, i := range dynamo.FailedConditions(err) {
		if writes[i].Attempt.Key != "" {
			continue
		}
		c := conditionOf(writes[i].Action)
		if slices.ContainsFunc(t.failed, func(before condition) bool { return reflect.DeepEqual(before, c) }) {
			return true
		}
		t.failed = append(t.failed, c)
	}
	return false
}
