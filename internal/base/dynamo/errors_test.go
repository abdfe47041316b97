package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// unsent is the error of a request for which no connection could be made.
var unsent = &net.OpError{Op: "dial", Err: context.DeadlineExceeded}

// apiError returns an error with a code, of the server if fault is true.
func apiError(code string, fault bool) error {
	e := &smithy.GenericAPIError{Code: code, Fault: smithy.FaultClient}
	if fault {
		e.Fault = smithy.FaultServer
	}
	return e
}

// attemptsOf returns the number of attempts that persist makes if each fails with err.
func attemptsOf(t *testing.T, persist func(context.Context, func(context.Context) error) error, err error) (n int) {
	synctest.Test(t, func(t *testing.T) {
		_ = persist(t.Context(), func(context.Context) error { n++; return err })
	})
	return n
}

// TestErrors checks the kind of each error, the scope of a throttle, whether a write may have been applied, and the number of
// attempts of a read and of a sum.
func TestErrors(t *testing.T) {
	const all = dynamo.MaxAttempts
	onDemand := &types.ThrottlingException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String(libtest.TableHot)}}}
	account := &types.RequestLimitExceeded{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableWriteAccountLimitExceeded")}}}
	noReason := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{}}}
	for name, c := range map[string]struct {
		err        error
		kind       error // nil for the error itself
		scope      dynamo.Scope
		conflict   bool
		mayApply   bool
		read, sums int // attempts
	}{
		"other":                 {errors.New("other"), nil, dynamo.NotThrottled, false, false, 1, 1},
		"stale":                 {shard.ErrStale, nil, dynamo.NotThrottled, false, false, 1, 1},
		"invalid":               {apiError("ValidationException", false), nil, dynamo.NotThrottled, false, false, 1, 1},
		"condition":             {&types.ConditionalCheckFailedException{}, nil, dynamo.NotThrottled, false, false, 1, 1},
		"canceled, condition":   {libtest.CanceledFor("ConditionalCheckFailed"), nil, dynamo.NotThrottled, false, false, 1, 1},
		"throttled":             {libtest.Hot(), shard.ErrThrottled, dynamo.Unknown, false, false, all, all},
		"no reason":             {noReason, shard.ErrThrottled, dynamo.Unknown, false, false, all, all},
		"with its kind":         {dynamo.Classify(libtest.Hot(libtest.TableHot)), shard.ErrThrottled, dynamo.KeyRange, false, false, all, all},
		"table":                 {libtest.Hot(libtest.TableHot), shard.ErrThrottled, dynamo.KeyRange, false, false, all, all},
		"index":                 {libtest.Hot(libtest.IndexHot), shard.ErrThrottled, dynamo.IndexKeyRange, false, false, all, all},
		"account":               {account, shard.ErrThrottled, dynamo.WholeTable, false, false, all, all},
		"on demand":             {onDemand, shard.ErrThrottled, dynamo.KeyRange, false, false, all, all},
		"index's throughput":    {libtest.Hot("IndexWriteProvisionedThroughputExceeded"), shard.ErrThrottled, dynamo.WholeTable, false, false, all, all},
		"table, index, account": {libtest.Hot(libtest.TableHot, libtest.IndexHot, "TableWriteAccountLimitExceeded"), shard.ErrThrottled, dynamo.IndexKeyRange, false, false, all, all},
		"index first":           {libtest.Hot(libtest.IndexHot, libtest.TableHot), shard.ErrThrottled, dynamo.IndexKeyRange, false, false, all, all},
		"maximum, table":        {libtest.Hot("IndexWriteMaxOnDemandThroughputExceeded", libtest.TableHot), shard.ErrThrottled, dynamo.KeyRange, false, false, all, all},
		"same token":            {&types.TransactionInProgressException{}, shard.ErrThrottled, dynamo.Unknown, false, false, all, all},
		"canceled, throttled":   {libtest.CanceledFor("None", "ThrottlingError"), shard.ErrThrottled, dynamo.Unknown, false, false, all, all},
		"canceled, throughput":  {libtest.CanceledFor("ProvisionedThroughputExceeded"), shard.ErrThrottled, dynamo.Unknown, false, false, all, all},
		"canceled, both":        {libtest.CanceledFor("ThrottlingError", "TransactionConflict"), shard.ErrThrottled, dynamo.Unknown, true, false, all, all},
		"canceled, conflict":    {libtest.CanceledFor("None", "TransactionConflict"), shard.ErrContended, dynamo.NotThrottled, true, false, all, all},
		"conflict":              {&types.TransactionConflictException{}, shard.ErrContended, dynamo.NotThrottled, true, false, all, all},
		"outrun":                {fmt.Errorf("%w twice", dynamo.ErrOutrun), shard.ErrContended, dynamo.NotThrottled, true, false, all, all},
		"not sent in time":      {dynamo.ErrUnsent, shard.ErrThrottled, dynamo.NotThrottled, false, false, all, all},
		"no connection":         {unsent, shard.ErrUnavailable, dynamo.NotThrottled, false, false, all, all},
		"connection reset":      {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, shard.ErrUnavailable, dynamo.NotThrottled, false, true, all, 2},
		"connection lost":       {libtest.LostAnswer{}, shard.ErrUnavailable, dynamo.NotThrottled, false, true, all, 2},
		"timed out":             {context.DeadlineExceeded, shard.ErrUnavailable, dynamo.NotThrottled, false, true, all, 1},
		"canceled":              {context.Canceled, shard.ErrUnavailable, dynamo.NotThrottled, false, true, all, 1},
		"500":                   {&types.InternalServerError{}, shard.ErrUnavailable, dynamo.NotThrottled, false, true, all, 1},
		"unknown 5xx":           {apiError("ServiceUnavailable", true), shard.ErrUnavailable, dynamo.NotThrottled, false, true, all, 1},
	} {
		kind := dynamo.Classify(c.err)
		for _, k := range []error{shard.ErrThrottled, shard.ErrContended, shard.ErrUnavailable} {
			if want := k == c.kind || k == shard.ErrThrottled && c.kind == shard.ErrContended; errors.Is(kind, k) != want || !errors.Is(kind, c.err) {
				t.Errorf("%s: kind is %v, want %v", name, kind, c.kind)
			}
		}
		if got := dynamo.ThrottleScope(c.err); got != c.scope || dynamo.IsThrottle(c.err) != (c.scope != dynamo.NotThrottled) {
			t.Errorf("%s: scope %d, want %d", name, got, c.scope)
		}
		if conflict, mayApply := dynamo.IsConflict(c.err), dynamo.MayApply(c.err); conflict != c.conflict || mayApply != c.mayApply {
			t.Errorf("%s: conflict %t, may apply %t", name, conflict, mayApply)
		}
		if read, sums := attemptsOf(t, dynamo.Persist, c.err), attemptsOf(t, dynamo.PersistSum, c.err); read != c.read || sums != c.sums {
			t.Errorf("%s: %d attempts of a read and %d of a sum, want %d and %d", name, read, sums, c.read, c.sums)
		}
	}
	if err := dynamo.Classify(nil); err != nil {
		t.Errorf("no error has a kind: %v", err)
	}
}

// TestThrottleNamesTheLimit checks the text of a throttle, since AWS's message doesn't name the index.
func TestThrottleNamesTheLimit(t *testing.T) {
	err := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{
		{Reason: aws.String(libtest.IndexHot), Resource: aws.String("arn:aws:dynamodb:eu-west-1:1:table/t/index/i")}, {Reason: aws.String(libtest.TableHot)},
	}}
	want := "no capacity (IndexWriteKeyRangeThroughputExceeded on table/t/index/i, TableWriteKeyRangeThroughputExceeded on ): " + err.Error()
	if got := dynamo.Classify(err).Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := dynamo.Classify(libtest.Hot()).Error(); got != "no capacity: "+libtest.Hot().Error() {
		t.Errorf("without a reason: %s", got)
	}
}

// TestInvalidInput checks which errors show that DynamoDB did not try to write.
func TestInvalidInput(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("%w: no name", shard.ErrMisused), true},
		{&smithy.OperationError{Err: &smithy.InvalidParamsError{}}, true},
		{apiError("ValidationException", false), true},
		{apiError("ResourceNotFoundException", false), false},
		{errors.New("other"), false},
		{nil, false},
	} {
		if got := dynamo.IsInvalid(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}

// TestFailedActions checks what a canceled transaction and a single write say of their conditions.
func TestFailedActions(t *testing.T) {
	stored := dynamo.Key("p", "s")
	failed := &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
		{Code: aws.String("None")}, {Code: aws.String("ConditionalCheckFailed"), Item: stored}, {Code: aws.String("ConditionalCheckFailed")}, {},
	}}
	if got := dynamo.FailedActions(failed); !slices.Equal(got, []int{1, 2}) || dynamo.FailedActions(errors.New("other")) != nil {
		t.Errorf("%v failed", got)
	}
	for at, want := range []bool{false, true, true, false, false} {
		it, got := dynamo.ActionFailed(failed, at)
		if got != want || (it != nil) != (at == 1) {
			t.Errorf("action %d: %v, %t", at, it, got)
		}
	}
	if _, got := dynamo.ActionFailed(errors.New("other"), 0); got {
		t.Error("an action failed by another error")
	}
	if dynamo.FailedActions(libtest.CanceledFor("TransactionConflict")) != nil || len(dynamo.FailedActions(libtest.CanceledFor("ConditionalCheckFailed"))) != 1 {
		t.Error("a conflict is a failed condition, or a single one is none")
	}
	if !dynamo.HasReasonCode(failed, "TransactionConflict", "ConditionalCheckFailed") || dynamo.HasReasonCode(failed, "TransactionConflict") {
		t.Error("HasReasonCode is wrong")
	}
	it, got := dynamo.ConditionFailed(&smithy.OperationError{Err: &types.ConditionalCheckFailedException{Item: stored}})
	if !got || dynamo.Text(it, "sk") != "s" {
		t.Errorf("a single write: %v, %t", it, got)
	}
	if it, got = dynamo.ConditionFailed(failed); got || it != nil {
		t.Errorf("a transaction: %v, %t", it, got)
	}
}

// TestUnchangedCondition checks the condition that an item still has the values that were read.
func TestUnchangedCondition(t *testing.T) {
	read := dynamo.Item{"a": dynamo.Number(1), "c": dynamo.String("x"), "d": dynamo.Number(2)}
	text, names, values := dynamo.UnchangedCondition(read, "a", "b", "c")
	if *text != "attribute_exists(pk) AND #a = :a AND attribute_not_exists(#b) AND #c = :c" {
		t.Error(*text)
	}
	if len(names) != 3 || names["#a"] != "a" || names["#b"] != "b" || names["#c"] != "c" {
		t.Error(names)
	}
	if len(values) != 2 || dynamo.Digits(values, ":a") != "1" || dynamo.Text(values, ":c") != "x" {
		t.Error(values)
	}
	if _, _, values = dynamo.UnchangedCondition(read, "b"); values != nil {
		t.Errorf("%v: DynamoDB rejects an empty map", values)
	}
}

// TestNilClientAndZeroTime checks what is rejected before a request is made.
func TestNilClientAndZeroTime(t *testing.T) {
	var none *dynamodb.Client
	for client, good := range map[any]bool{nil: false, none: false, &dynamodb.Client{}: true, &libtest.Scripted{}: true} {
		if err := dynamo.CheckClient(client); (err == nil) != good || !good && !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%T: %v", client, err)
		}
	}
}
