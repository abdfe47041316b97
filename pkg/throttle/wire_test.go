package throttle_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestFailedCondition checks that a failed condition costs the existing item's size. The item is returned only if the
// caller asked for it.
func TestFailedCondition(t *testing.T) {
	b := newBench(t, roomy)
	require.NoError(t, b.put(t, itemOf("a", "1", sized(2.5))))
	for _, show := range append(types.ReturnValuesOnConditionCheckFailure("").Values(), "") {
		b.Reset()
		for key, condition := range map[string]string{"a": "attribute_not_exists(pk)", "none": "attribute_exists(pk)"} {
			_, err := b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
				TableName: aws.String(tableName), Key: keyOf(key, "1"), ConditionExpression: &condition, ReturnValuesOnConditionCheckFailure: show,
			})
			failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
			if shown := show == types.ReturnValuesOnConditionCheckFailureAllOld && key == "a"; !ok || (len(failed.Item) > 0) != shown {
				t.Errorf("%s, asked %q: %v", key, show, err)
			}
		}
		if got := b.Stats().WriteUnits; got != 3+1 {
			t.Errorf("two failures cost %v units, want 4", got)
		}
	}
}
