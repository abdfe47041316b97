package shard

import (
	"errors"
	"fmt"
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

// ErrMisused means that what was asked for can't be had, whenever it is asked: something is not
// set up for it, or out of its bounds. The error says which. Nothing was written.
var ErrMisused = errors.New("misused")

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
