package dynamo

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// ConditionFailed reports whether a single write's condition failed, and returns the stored item if the
// write requested it.
func ConditionFailed(err error) (stored Item, ok bool) {
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return nil, false
	}
	return failed.Item, true
}

// ActionFailed reports whether the condition of a transaction's action failed, by the action's index. It returns
// the stored item if the action requested it.
func ActionFailed(err error, index int) (stored Item, failed bool) {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(canceled.CancellationReasons) <= index {
		return nil, false
	}
	reason := canceled.CancellationReasons[index]
	return reason.Item, aws.ToString(reason.Code) == "ConditionalCheckFailed"
}

// Unchanged returns the condition that an item exists, and that these attributes have the values that were read or are
// absent as they were. It also returns the condition's names and values.
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

// FailedConditions returns the indices, in order, of a canceled transaction's actions whose
// conditions failed.
func FailedConditions(err error) (list []int) {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return nil
	}
	for i, r := range canceled.CancellationReasons {
		if aws.ToString(r.Code) == "ConditionalCheckFailed" {
			list = append(list, i)
		}
	}
	return list
}

// HasReason reports whether any action of a canceled transaction has one of these codes.
func HasReason(e *types.TransactionCanceledException, codes ...string) bool {
	return slices.ContainsFunc(e.CancellationReasons, func(r types.CancellationReason) bool {
		return slices.Contains(codes, aws.ToString(r.Code))
	})
}
