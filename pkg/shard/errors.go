package shard

import (
	"errors"
	"fmt"
)

// ItemError means that an item's attributes don't have the form that its key implies, because another program
// wrote the item. A retry returns the same error.
type ItemError struct {
	PK, SK string // the item's key; PK is "" if it is unknown
	Err    error
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("the item with partition key %q and sort key %q can't be read: %v", e.PK, e.SK, e.Err)
}

// Unwrap returns the reason.
func (e *ItemError) Unwrap() error { return e.Err }

// contention is the type of ErrContended.
type contention struct{}

func (contention) Error() string { return "other calls kept changing the same items" }

// Is makes errors.Is report that ErrContended is a kind of ErrThrottled.
func (contention) Is(target error) bool { return target == ErrThrottled }

// ErrMisused means that a repeat of the call fails, too: a setting is missing, or a value is out of
// bounds. The error's text names the setting or the value. Nothing was written.
var ErrMisused = errors.New("misused")

// Kinds of errors that callers handle, by errors.Is.
var (
	// ErrNotFound means that no such item exists.
	ErrNotFound = errors.New("no such item")
	// ErrStale means that a call needs a current shard count, and that the shard map, or the key's entry in it, could
	// not be read.
	ErrStale = errors.New("the shard map could not be read")
	// ErrThrottled means that a write or read found no capacity within the call's deadline or attempts; the write was
	// not made. A call that makes several writes may have made others.
	ErrThrottled = errors.New("no capacity")
	// ErrContended means that other writers kept changing an item until the call's deadline or last attempt, and the
	// write was not made. It is also an ErrThrottled, since it has the same remedy: a later retry.
	ErrContended error = contention{}
	// ErrUnavailable means that DynamoDB could not be reached or failed. A write may have been made.
	ErrUnavailable = errors.New("DynamoDB is unavailable")
)
