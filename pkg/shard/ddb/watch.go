package ddb

import (
	"context"
	"hash/maphash"
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

// Unwatched is a Watcher that does nothing, which a nil Watcher stands for, too.
type Unwatched struct{}

// Requested does nothing.
func (Unwatched) Requested(Request) {}

// Attempted does nothing.
func (Unwatched) Attempted(context.Context, Attempt) {}

// watched is the watcher, or one for nobody.
func watched(w Watcher) Watcher {
	if w == nil {
		return Unwatched{}
	}
	return w
}

// tell tells the watcher what became of a write of one item. Limit is the scope of a
// throttle that the write shard's partition is to blame for.
func tell(ctx context.Context, w Watcher, a Attempt, err error, limit Scope) {
	_, failed := conditionFailed(err)
	switch {
	case err == nil, failed:
		a.Outcome = Taken
	case ThrottleScope(err) == limit:
		a.Outcome = OverLimit
	case isConflict(err):
		a.Outcome = Conflicted
	default:
		return
	}
	w.Attempted(ctx, a)
}

var hashSeed = maphash.MakeSeed()

// hashed is the hash of an item's identity, by which this process tells items apart.
func hashed(identity string) uint64 { return maphash.String(hashSeed, identity) }

// requests gathers what a call writes of each key.
type requests map[string]Request

// add adds an item of a key.
func (r requests) add(key string, item uint64, at time.Time) {
	one, there := r[key]
	if !there || at.After(one.At) {
		one.At = at
	}
	one.Key, one.ID = key, one.ID+item
	r[key] = one
}

func (r requests) tell(w Watcher) {
	for _, one := range r {
		w.Requested(one)
	}
}
