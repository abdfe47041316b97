package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Scope tells whose limit a throttle hit. The zero value is no throttle.
type Scope int

// The scopes, by the suffix of the exception's throttling reason.
const (
	NotThrottled Scope = iota
	// KeyRange is the limit of one of the table's partitions: a hot key, which more
	// write shards cure.
	KeyRange
	// IndexKeyRange is the limit of one of an index's partitions. It is cured by
	// spreading the index's key.
	IndexKeyRange
	// WholeTable is the table's, index's or account's limit, which they don't.
	WholeTable
	// Unknown is a throttle that came without a reason.
	Unknown
)

// ThrottleScope classifies an error of one attempt. DynamoDB names the reasons
// in three exceptions. Where several came, a key range's counts, and an index's
// before its table's: what is written there has only one item in the table.
func ThrottleScope(err error) Scope {
	if !IsThrottle(err) {
		return NotThrottled
	}
	scope := Unknown
	for _, r := range ThrottlingReasons(err) {
		if r.Reason == nil {
			continue
		}
		scope = narrower(scope, scopeOf(*r.Reason))
	}
	return scope
}

// scopeOf reads a reason: whether of a table or an index, of reads or writes, and
// the limit.
func scopeOf(reason string) Scope {
	switch {
	case !strings.HasSuffix(reason, "KeyRangeThroughputExceeded"):
		return WholeTable
	case strings.HasPrefix(reason, "Index"):
		return IndexKeyRange
	}
	return KeyRange
}

// narrower returns the scope that says more.
func narrower(a, b Scope) Scope {
	for _, s := range []Scope{IndexKeyRange, KeyRange, WholeTable} {
		if a == s || b == s {
			return s
		}
	}
	return Unknown
}

// ThrottlingReasons are those that a throttle came with; none of another error.
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

func IsThrottle(err error) bool {
	if isLost(err) {
		return false
	}
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return HasReason(canceled, "ThrottlingError", "ProvisionedThroughputExceeded")
	}
	return throttles.IsErrorThrottle(err).Bool()
}

// ErrOutrun means that others wrote an item between its reading and its write.
// Nothing was written.
var ErrOutrun = errors.New("an item changed since it was read")

// IsConflict tells whether a transaction or a write met another transaction, or
// came too late.
func IsConflict(err error) bool {
	if isLost(err) {
		return false
	}
	if errors.Is(err, ErrOutrun) {
		return true
	}
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return HasReason(canceled, "TransactionConflict")
	}
	_, conflict := errors.AsType[*types.TransactionConflictException](err)
	_, inProgress := errors.AsType[*types.TransactionInProgressException](err)
	return conflict || inProgress
}

// Kind wraps an error of the SDK in the kind that callers act on, if it has one.
func Kind(err error) error {
	var kind error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, shard.ErrThrottled), errors.Is(err, shard.ErrUnavailable), errors.Is(err, shard.ErrStale):
		return err
	case IsThrottle(err):
		kind = shard.ErrThrottled
	case IsConflict(err):
		kind = shard.ErrContended
	case retryables.IsErrorRetryable(err).Bool(), isTimeout(err), isFault(err):
		kind = shard.ErrUnavailable
	default:
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// isUnsent tells that there was no connection to send a request by.
func isUnsent(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

func isFault(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorFault() == smithy.FaultServer
}
