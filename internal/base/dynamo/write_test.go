package dynamo_test

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// TestAWriteIsWhole checks that a write of a transaction keeps all its fields as a single call. A new type of field, from a
// later release of the SDK, fails it.
func TestAWriteIsWhole(t *testing.T) {
	update, put, deletion := new(types.Update), new(types.Put), new(types.Delete)
	for _, w := range []struct {
		write any
		call  func() any
	}{
		{update, func() any { return dynamo.UpdateInput(update) }},
		{put, func() any { return dynamo.PutInput(put) }},
		{deletion, func() any { return dynamo.DeleteInput(deletion) }},
	} {
		write := reflect.ValueOf(w.write).Elem()
		filled := 0
		for i := range write.NumField() {
			field := write.Field(i)
			if !field.CanSet() {
				continue
			}
			switch field.Interface().(type) {
			case *string:
				name := write.Type().Field(i).Name
				field.Set(reflect.ValueOf(&name))
			case map[string]string:
				field.Set(reflect.ValueOf(map[string]string{"#a": "a"}))
			case dynamo.Item:
				field.Set(reflect.ValueOf(dynamo.Key("p", "s")))
			case types.ReturnValuesOnConditionCheckFailure:
				field.Set(reflect.ValueOf(types.ReturnValuesOnConditionCheckFailureAllOld))
			default:
				t.Fatalf("%s has a field of a new type", write.Type())
			}
			filled++
		}
		call := reflect.ValueOf(w.call()).Elem()
		for i := range write.NumField() {
			name := write.Type().Field(i).Name
			if !write.Field(i).CanSet() {
				continue
			}
			if !reflect.DeepEqual(call.FieldByName(name).Interface(), write.Field(i).Interface()) {
				t.Errorf("%s lacks %s", call.Type(), name)
			}
		}
		if filled < 6 {
			t.Errorf("%s has %d fields, want at least 6", write.Type(), filled)
		}
	}
}
