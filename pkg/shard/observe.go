package shard

import (
	"context"
	"time"
)

// Observer receives the attempts of a writer, for example to raise the shard count of a hot key.
type Observer interface {
	// ObserveAttempt is called once for each attempt to write an item, after the attempt. It must be safe
	// for concurrent calls. The write waits for it to return. A writer that may choose another
	// write shard looks up the key's shard count again before its next attempt.
	ObserveAttempt(context.Context, Attempt)
}

// Attempt is one attempt to write an item of a base key.
type Attempt struct {
	Key     string    // the base key, as in the shard map
	Kind    string    // counter, entity, board, sessions or limit; random items or timed items in a caller's own table
	Table   string    // a caller's own table; "" for hotshard's tables
	Shard   int       // the write shard
	Call    uint64    // the call's number in this process, which all attempts of the call have
	Items   uint64    // a hash of the items that the call writes to the key; 0 if write shards are random
	New     bool      // no other process can name the item yet, so the newest count applies to it at once
	At      time.Time // the time for which the write shard was chosen: an event's, a limit call's, else the attempt's
	Outcome Outcome

	// The key's entry in the shard map when the attempt was sent. Shards is the newest shard count, or for an event the
	// count by which its write shard was chosen, if that is larger.
	Version   int64
	Shards    int
	Before    int       // the count before Shards; 0 if there was none
	Effective time.Time // when Shards takes effect for events that are not New; zero if the count never changed
	Changed   time.Time // when the entry last changed; zero if it never did
	Pinned    bool      // the observer must not change the count: it is pinned, or a table's fixed count

	// CheckUnused checks that no items are stored under the partition keys of the write shards n, from <= n < to. It
	// returns a [*KeyError] for a key that has items, or the error of the read. Observers call it before they raise the
	// count above the key's largest count ever. A nil CheckUnused means that no check is needed.
	CheckUnused func(ctx context.Context, from, to int) error
}

// Outcome is what an attempt shows about its write shard's partition.
type Outcome int

// The outcomes of an attempt.
const (
	// Inconclusive attempts show nothing about the partition: their outcome is unknown, they failed because of another
	// limit, they transferred quota, or a condition or another item failed their transaction.
	Inconclusive Outcome = iota
	// Accepted attempts were written, or, outside a transaction, only their own condition failed.
	Accepted
	// Throttled attempts exceeded the limit of the write shard's partition, in the table or in an index.
	Throttled
	// Conflicted attempts met a transaction on the same item.
	Conflicted
)
