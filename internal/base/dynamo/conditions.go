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

// ActionFailed reports whether the condition of the transaction's action with this index failed. It returns the stored item
// if the action requested it.
func ActionFailed(err error, index int) (stored Item, failed bool) {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(canceled.CancellationReasons) <= index {
		return nil, false
	}
	reason := canceled.CancellationReasons[index]
	return reason.Item, aws.ToString(reason.Code) == "ConditionalCheckFailed"
}

// UnchangedCondition returns the condition that an item exists and that these attributes are as they were read, with
// the condition's placeholders. An attribute that read lacks must be absent. values is nil if read lacks all of them.
func UnchangedCondition(read Item, attributes ...string) (condition *string, names map[string]string, values Item) {
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

// FailedActions returns the indices, in ascending order, of a canceled transaction's actions whose conditions failed. It
// returns nil for any other error.
func FailedActions(err error) (indices []int) {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return nil
	}
	for i, r := range canceled.CancellationReasons {
		if aws.ToString(r.Code) == "ConditionalCheckFailed" {
			indices = append(indices, i)
		}
	}
	return indices
}

// HasReasonCode reports whether any action of a canceled transaction has one of these cancellation codes.
func HasReasonCode(canceled *types.TransactionCanceledException, codes ...string) bool {
	return slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
		return slices.Contains(codes, aws.ToString(r.Code))
	})
}
