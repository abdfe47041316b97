package dynamo

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// ConditionFailed returns the item that a failed condition of a single write found,
// where that was asked for.
func ConditionFailed(err error) (there Item, ok bool) {
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return nil, false
	}
	return failed.Item, true
}

// ActionFailed returns the item that made the condition of one of a transaction's
// actions fail, if it did.
func ActionFailed(err error, at int) (there Item, failed bool) {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(canceled.CancellationReasons) <= at {
		return nil, false
	}
	reason := canceled.CancellationReasons[at]
	return reason.Item, aws.ToString(reason.Code) == "ConditionalCheckFailed"
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

// Outrun tells whether a condition of the call's own writes, of which there are so
// many, made the transaction fail.
func Outrun(err error, writes int) bool {
	failed := FailedConditions(err)
	return len(failed) > 0 && failed[0] < writes
}

// FailedConditions lists the actions of a canceled transaction whose conditions did
// not hold, in their order.
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

// HasReason tells whether any action of a canceled transaction has one of these codes.
func HasReason(e *types.TransactionCanceledException, codes ...string) bool {
	return slices.ContainsFunc(e.CancellationReasons, func(r types.CancellationReason) bool {
		return slices.Contains(codes, aws.ToString(r.Code))
	})
}
