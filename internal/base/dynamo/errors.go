package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Scope is what the limit that caused a throttle applies to.
type Scope int

// The scopes of throttles.
const (
	NotThrottled Scope = iota
	// KeyRange is the limit of a table partition: a hot key. More write shards relieve it.
	KeyRange
	// IndexKeyRange is the limit of an index partition. Spreading the index's key relieves it.
	IndexKeyRange
	// WholeTable is the limit of the table, of a whole index, or of the account. More write shards don't help.
	WholeTable
	// Unknown is the scope of a throttle for which DynamoDB gave no reason.
	Unknown
)

// ThrottleScope returns the scope of an attempt's error; NotThrottled for nil and for other errors, and Unknown for a
// throttle without reasons, such as that of a canceled transaction. If an error has several scopes, IndexKeyRange comes
// before KeyRange, and this before WholeTable: a hot index partition gets items from many table partitions.
func ThrottleScope(err error) Scope {
	if !IsThrottle(err) {
		return NotThrottled
	}
	scope := Unknown
	for _, r := range ThrottlingReasons(err) {
		if r.Reason == nil {
			continue
		}
		scope = moreSpecific(scope, scopeOf(*r.Reason))
	}
	return scope
}

// scopeOf returns the scope of a reason such as TableWriteKeyRangeThroughputExceeded, which names
// the table or the index, read or write, and the limit.
func scopeOf(reason string) Scope {
	switch {
	case !strings.HasSuffix(reason, "KeyRangeThroughputExceeded"):
		return WholeTable
	case strings.HasPrefix(reason, "Index"):
		return IndexKeyRange
	}
	return KeyRange
}

// moreSpecific returns the scope that ThrottleScope prefers of two.
func moreSpecific(a, b Scope) Scope {
	for _, s := range []Scope{IndexKeyRange, KeyRange, WholeTable} {
		if a == s || b == s {
			return s
		}
	}
	return Unknown
}

// ThrottlingReasons returns the reasons that DynamoDB gave for a throttle; nil for any other error.
func ThrottlingReasons(err error) []types.ThrottlingReason {
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		return e.ThrottlingReasons
	}
	if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		return e.ThrottlingReasons
	}
	if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		return e.ThrottlingReasons
	}
	return nil
}

var (
	throttles  = retry.IsErrorThrottles(retry.DefaultThrottles)
	retryables = retry.IsErrorRetryables(retry.DefaultRetryables)
)

// IsThrottle reports whether a request was throttled and wrote nothing. It is false if an earlier attempt had an unknown
// outcome.
func IsThrottle(err error) bool {
	if hasUnknownOutcome(err) {
		return false
	}
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return HasReasonCode(canceled, "ThrottlingError", "ProvisionedThroughputExceeded")
	}
	return throttles.IsErrorThrottle(err).Bool()
}

// IsInvalid reports whether a request was wrong: it was misused, its parameters were invalid, or DynamoDB rejected it.
// Nothing was written.
func IsInvalid(err error) bool {
	_, badParameters := errors.AsType[*smithy.InvalidParamsError](err)
	return badParameters || errors.Is(err, shard.ErrMisused) || IsRejected(err)
}

// IsRejected reports whether DynamoDB rejected a request as invalid, such as one with an item that is too large.
func IsRejected(err error) bool {
	failed, ok := errors.AsType[smithy.APIError](err)
	return ok && failed.ErrorCode() == "ValidationException"
}

// ErrOutrun means that another writer changed or locked an item between its read and its write. Nothing was written.
var ErrOutrun = errors.New("an item was changed or locked since it was read")

// IsConflict reports whether a write or a transaction conflicted with another transaction, or returned ErrOutrun. It is
// false if an earlier attempt had an unknown outcome.
func IsConflict(err error) bool {
	if hasUnknownOutcome(err) {
		return false
	}
	if errors.Is(err, ErrOutrun) {
		return true
	}
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return HasReasonCode(canceled, "TransactionConflict")
	}
	_, conflict := errors.AsType[*types.TransactionConflictException](err)
	return conflict
}

// Classify wraps an SDK's error in its kind: shard.ErrThrottled, shard.ErrContended, which is an ErrThrottled, or
// shard.ErrUnavailable. It returns an error unchanged if the error has a kind already, or none of these. For nil it returns
// nil.
func Classify(err error) error {
	var kind error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, shard.ErrThrottled), errors.Is(err, shard.ErrUnavailable), errors.Is(err, shard.ErrStale):
		return err
	case IsThrottle(err):
		return fmt.Errorf("%w%s: %w", shard.ErrThrottled, describeLimits(err), err)
	case IsConflict(err):
		kind = shard.ErrContended
	case retryables.IsErrorRetryable(err).Bool(), isTimeout(err), isServerFault(err):
		kind = shard.ErrUnavailable
	default:
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// describeLimits returns a text such as " (TableWriteKeyRangeThroughputExceeded on table/orders)", with the table or index
// of each limit that throttled a request. It returns "" if DynamoDB gave no reason. AWS's message doesn't name an index.
func describeLimits(err error) string {
	var list []string
	for _, r := range ThrottlingReasons(err) {
		resource := aws.ToString(r.Resource)
		list = append(list, aws.ToString(r.Reason)+" on "+resource[strings.LastIndexByte(resource, ':')+1:])
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// MayApply reports whether a failed write may have been applied, or may still be applied.
func MayApply(err error) bool {
	return errors.Is(Classify(err), shard.ErrUnavailable) && !isUnsent(err)
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// isUnsent reports whether the request was not sent, because no connection could be opened.
func isUnsent(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// isDisconnected reports whether the connection was lost before the response was read.
func isDisconnected(err error) bool {
	return !isTimeout(err) && retry.RetryableConnectionError{}.IsErrorRetryable(err).Bool()
}

func isServerFault(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorFault() == smithy.FaultServer
}
