package shard

import (
	"context"
	"time"
)

// Observer receives the attempts of a writer, for example to raise the shard count of a hot key.
type Observer interface {
	// ObserveAttempt is called once for each attempt to write an item, after the attempt. Many
	// goroutines call it at once. The write waits for it to return. A writer that may choose another
	// write shard looks its key's shard count up again before its next attempt.
	ObserveAttempt(context.Context, Attempt)
}

// Attempt is one attempt to write an item of a base key.
type Attempt struct {
	Key     string    // the base key, as the shard map has it
	Kind    string    // counter, entity, board, sessions or limit; of a caller's own table: random items or timed items
	Table   string    // a caller's own table; empty for hotshard's tables
	Shard   int       // the write shard
	Call    uint64    // numbers the process's calls as they begin; a call may write many items, many times
	Items   uint64    // a hash of the call's items of the key if write shards are calculated from items, else 0
	At      time.Time // what decides the write shard: an event's own time, a limit's call's, otherwise the attempt's
	Outcome Outcome

	// What the shard map said of the key when the attempt was sent.
	Version   int64
	Shards    int       // the newest shard count; for an event the one in force at At if that is larger
	Before    int       // the count before that one; 0 if there was none
	Effective time.Time // when that count comes into force for events; zero if there was no change
	Changed   time.Time // when the key's entry changed last; zero if it never did
	Pinned    bool

	// Clear returns nil if nothing is stored under the partition keys of write shards from, included,
	// to to, excluded. It returns a [*KeyError] for a key with items, or the error of reading it. It is
	// called before a growth to a count that the key never had; nil means that there is nothing to check.
	Clear func(ctx context.Context, from, to int) error
}

// Outcome says what an attempt shows of its write shard's partition.
type Outcome int

// The outcomes of an attempt.
const (
	// Inconclusive attempts show nothing of the partition: the result is unknown, or another limit,
	// another item of the transaction, or a transfer between two write shards is the reason.
	Inconclusive Outcome = iota
	// Accepted attempts were written, or rejected by their own condition.
	Accepted
	// Throttled attempts exceeded the limit of the write shard's partition, in the table or in an index.
	Throttled
	// Conflicted attempts met a transaction on the same item.
	Conflicted
)
