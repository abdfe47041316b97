package dynamo_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
)

// TestReads checks what each accessor returns for attributes of its type, of other types, and for missing ones.
func TestReads(t *testing.T) {
	it := dynamo.Key("p", "s")
	it["n"], it["half"], it["binary"] = dynamo.Number(1795240688424), &types.AttributeValueMemberN{Value: "0.5"}, &types.AttributeValueMemberB{Value: []byte("1")}
	for name, want := range map[string]struct {
		text, digits string
		whole        int64
		ok           bool
	}{
		"pk": {text: "p"}, "sk": {text: "s"}, "half": {digits: "0.5"}, "binary": {}, "none": {},
		"n": {digits: "1795240688424", whole: 1795240688424, ok: true},
	} {
		n, ok := dynamo.Whole(it, name)
		if text, digits := dynamo.Text(it, name), dynamo.Digits(it, name); text != want.text || digits != want.digits || n != want.whole || ok != want.ok {
			t.Errorf("%s: %q, %q, %d, %t; want %+v", name, text, digits, n, ok, want)
		}
		if at, known := dynamo.Millis(it, name); known != want.ok || known && at != time.Date(2026, 11, 21, 5, 58, 8, 424e6, time.UTC) {
			t.Errorf("%s: %v, %t", name, at, known)
		}
	}
	it["yes"] = &types.AttributeValueMemberBOOL{Value: true}
	if !dynamo.Truth(it, "yes") || dynamo.Truth(it, "n") || dynamo.Truth(nil, "yes") {
		t.Error("Truth is wrong for true, a number or a missing attribute")
	}
	if dynamo.Text(nil, "pk") != "" {
		t.Error("a nil item has a text")
	}
}

// TestThrottleScope checks the scope of throttles with one reason or several.
func TestThrottleScope(t *testing.T) {
	for _, c := range []struct {
		err  error
		want dynamo.Scope
	}{
		{errors.New("other"), dynamo.NotThrottled},
		{libtest.Hot(), dynamo.Unknown},
		{libtest.Hot(libtest.TableHot), dynamo.KeyRange},
		{libtest.Hot(libtest.IndexHot), dynamo.IndexKeyRange},
		{libtest.Hot(libtest.TableHot, libtest.IndexHot, "TableWriteAccountLimitExceeded"), dynamo.IndexKeyRange},
		{libtest.Hot("IndexWriteMaxOnDemandThroughputExceeded", libtest.TableHot), dynamo.KeyRange},
		{libtest.Hot("IndexWriteProvisionedThroughputExceeded"), dynamo.WholeTable},
		{libtest.Hot("TableWriteAccountLimitExceeded"), dynamo.WholeTable},
	} {
		if got := dynamo.ThrottleScope(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

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
