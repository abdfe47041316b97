package throttle_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestPutWithoutIndexes checks that a put costs the larger of the old and the new item, and that its response has no
// attributes or ConsumedCapacity that the caller did not ask for.
func TestPutWithoutIndexes(t *testing.T) {
	b := newBench(t, roomy, sortedTable())
	for i, test := range []struct {
		kb, units float64
		returns   types.ReturnValue
		capacity  types.ReturnConsumedCapacity
		condition *string
	}{
		{kb: 0.5, units: 1},
		{kb: 2.5, units: 3},
		{kb: 0.5, units: 3},
		{kb: 0.5, units: 1, returns: types.ReturnValueAllOld},
		{kb: 8.5, units: 9},
		{kb: 0.5, units: 9, capacity: types.ReturnConsumedCapacityTotal},
		{kb: 1.5, units: 2, returns: types.ReturnValueAllOld, capacity: types.ReturnConsumedCapacityIndexes},
		{kb: 3.5, units: 2, condition: aws.String("attribute_not_exists(pk)")},
		{kb: 0.5, units: 2, condition: aws.String("attribute_exists(pk)")},
	} {
		b.Reset()
		out, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String(tableName), Item: itemOf("a", "1", sized(test.kb)),
			ReturnValues: test.returns, ReturnConsumedCapacity: test.capacity, ConditionExpression: test.condition,
		})
		if failed := err != nil; failed != (i == 7) {
			t.Fatal(i, err)
		}
		if got := b.Stats().WriteUnits; got != test.units {
			t.Errorf("put %d cost %v units, want %v", i, got, test.units)
		}
		if err == nil && (out.Attributes != nil != (test.returns != "") || out.ConsumedCapacity != nil != (test.capacity != "")) {
			t.Errorf("put %d returned %d attributes and %+v", i, len(out.Attributes), out.ConsumedCapacity)
		}
		if err == nil && out.ConsumedCapacity != nil && aws.ToFloat64(out.ConsumedCapacity.CapacityUnits) != test.units {
			t.Errorf("the engine reports %v units for put %d, want %v", *out.ConsumedCapacity.CapacityUnits, i, test.units)
		}
	}
}
