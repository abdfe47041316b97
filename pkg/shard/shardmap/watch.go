package shardmap

import (
	"context"
	"time"
)

// Watcher is told by writers how their keys fare, so that it can have a hot key's
// shard count raised. Its methods are called by many goroutines.
type Watcher interface {
	// Requested tells of a call that writes a key, before its first attempt.
	Requested(Request)
	// Attempted tells what became of an attempt, unless that can't be told. It may take
	// some time: the writer waits, and looks the key's count up again for its next
	// attempt.
	Attempted(context.Context, Attempt)
}

// Request is a call that writes a key: however many of the key's items it writes, and
// however often it tries to.
type Request struct {
	Key string    // the base key
	ID  uint64    // tells it from others: random for counters and limits, else a hash of the items that it writes
	At  time.Time // the newest time that decides where an item goes: an event's own, otherwise the call's
}

// Attempt is one attempt to write an item of a key.
type Attempt struct {
	Key     string
	Request uint64    // its ID
	Entry   Entry     // what the shard map said of the key when it was sent
	Shard   int       // the write shard
	At      time.Time // what decides where the item goes: an event's own time, otherwise the attempt's
	Outcome Outcome
}

// Outcome is what became of an attempt.
type Outcome int

// The outcomes that a Watcher is told of.
const (
	Taken      Outcome = iota // written, or refused by its own condition: the partition had room
	OverLimit                 // refused by the limit of the write shard's partition, of the table or an index
	Conflicted                // refused since a transaction had the item in its hands
)
