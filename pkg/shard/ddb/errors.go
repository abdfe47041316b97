package ddb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Kinds of error that callers act on; use errors.Is.
var (
	// ErrNotFound means that no such item exists.
	ErrNotFound = errors.New("no such item")
	// ErrStale means that the process's view of the shard map is too old to write
	// events by, and could not be renewed.
	ErrStale = errors.New("the shard map could not be read")
	// ErrThrottled means that a write found no capacity before the deadline.
	ErrThrottled = errors.New("no write capacity")
	// ErrContended means that others kept writing the same items until the deadline,
	// and nothing was written. It is an ErrThrottled too: an item has room for one
	// writer at a time.
	ErrContended error = contention{}
	// ErrUnavailable means that DynamoDB could not be reached, or failed.
	ErrUnavailable = errors.New("DynamoDB is unavailable")
)

// ItemError is the error of an item in the table that can't be read as what its key says
// that it is: somebody else wrote it. It is no kind of error that passes.
type ItemError struct {
	PK, SK string // its key; PK is "" where it is not known
	Err    error
}

// Error names the item.
func (e *ItemError) Error() string {
	return fmt.Sprintf("item %q %q can't be read: %v", e.PK, e.SK, e.Err)
}

// Unwrap returns the reason.
func (e *ItemError) Unwrap() error { return e.Err }

type contention struct{}

// Error says what it means.
func (contention) Error() string { return "other calls kept changing the same items" }

// Is makes it a kind of ErrThrottled.
func (contention) Is(target error) bool { return target == ErrThrottled }

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
	if !isThrottle(err) {
		return NotThrottled
	}
	scope := Unknown
	for _, r := range throttlingReasons(err) {
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

func throttlingReasons(err error) []types.ThrottlingReason {
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

func isThrottle(err error) bool {
	if isLost(err) {
		return false
	}
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return hasReason(canceled, "ThrottlingError", "ProvisionedThroughputExceeded")
	}
	return throttles.IsErrorThrottle(err).Bool()
}

// errOutrun means that others wrote an item between its reading and its write.
// Nothing was written.
var errOutrun = errors.New("an item changed since it was read")

// isConflict tells whether a transaction or a write met another transaction, or
// came too late.
func isConflict(err error) bool {
	if isLost(err) {
		return false
	}
	if errors.Is(err, errOutrun) {
		return true
	}
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return hasReason(canceled, "TransactionConflict")
	}
	_, conflict := errors.AsType[*types.TransactionConflictException](err)
	_, inProgress := errors.AsType[*types.TransactionInProgressException](err)
	return conflict || inProgress
}

// conditionFailed returns the item that a failed condition of a single write found,
// where that was asked for.
func conditionFailed(err error) (there item, ok bool) {
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return nil, false
	}
	return failed.Item, true
}

func hasReason(e *types.TransactionCanceledException, codes ...string) bool {
	for _, r := range e.CancellationReasons {
		for _, code := range codes {
			if r.Code != nil && *r.Code == code {
				return true
			}
		}
	}
	return false
}

// Kind wraps an error of the SDK in the kind that callers act on, if it has one.
func Kind(err error) error {
	var kind error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrThrottled), errors.Is(err, ErrUnavailable), errors.Is(err, ErrStale):
		return err
	case isThrottle(err):
		kind = ErrThrottled
	case isConflict(err):
		kind = ErrContended
	case retryables.IsErrorRetryable(err).Bool(), isTimeout(err), isFault(err):
		kind = ErrUnavailable
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
