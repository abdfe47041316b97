package shardmap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/busy"
	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// maxNotes is of how many changes a key's item says who made them, and why.
const maxNotes = 20

// Why a change was not made; use errors.Is.
var (
	// ErrPinned means that a person has set the count.
	ErrPinned = errors.New("the shard count is pinned")
	// ErrNoChange means that the count already is what was asked for, or beyond,
	// or that somebody else was first.
	ErrNoChange = errors.New("there is nothing to change")
)

// ChangerClient is what a Changer calls of DynamoDB.
type ChangerClient interface {
	Client
	dynamo.Transactor
}

// Changer changes shard counts. A change is one transaction: the key's item,
// conditional on its version, and an item of the log. It comes into force a lead later
// for events (see [Options]), and at once for counters.
type Changer struct {
	*Map
	client ChangerClient
	keep   time.Duration
	lead   time.Duration // the map's, but in tests
	bound  time.Duration // CommitTime, but in tests
}

// ChangerOptions are how a Changer works. The zero value is good.
type ChangerOptions struct {
	// Keep is how long changes stay in a key's history; 0 keeps them for ever. It
	// must be what [HistoryKept] says of the time that events are kept, or longer: with
	// less, the count at the begin of a limit's window is taken for 1 once its change is
	// forgotten, so that the limit is divided otherwise and more hits may be allowed.
	Keep time.Duration
}

func init() {
	busy.SetCommit = func(changer any, bound time.Duration) { changer.(*Changer).bound = bound }
	busy.SetLead = func(changer any, lead time.Duration) { changer.(*Changer).lead = lead }
}

// NewChanger returns a Changer that shares a Map's view.
func NewChanger(client ChangerClient, view *Map, o ChangerOptions) *Changer {
	return &Changer{Map: view, client: client, keep: o.Keep, lead: view.options.lead(), bound: CommitTime}
}

// Grow raises the shard count of a base key. It returns the key's entry, also
// with ErrPinned and ErrNoChange.
func (c *Changer) Grow(ctx context.Context, key string, count int, note Note, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if count <= e.History.Newest() {
			return e, ErrNoChange
		}
		return c.automatic(e, count, note, now)
	})
}

// GrowFrom raises the shard count of the key of an entry, if the entry still is the
// key's newest: of those who answer the same evidence, one makes a change. The others
// get ErrNoChange with the winner's entry, which is in the view by then. What fails
// otherwise leaves the view as it is.
func (c *Changer) GrowFrom(ctx context.Context, seen Entry, count int, note Note, now time.Time) (Entry, error) {
	return c.change(ctx, seen.Key, now, func(e Entry, now time.Time) (Entry, error) {
		if e.Version != seen.Version || count <= e.History.Newest() {
			return e, ErrNoChange
		}
		return c.automatic(e, count, note, now)
	})
}

// ShrinkFrom lowers the shard count of the key of an entry, if the entry still is the key's
// newest: what has grown since it was looked at is not thrown back. ErrNoChange otherwise,
// as with GrowFrom.
func (c *Changer) ShrinkFrom(ctx context.Context, seen Entry, count int, note Note, now time.Time) (Entry, error) {
	return c.change(ctx, seen.Key, now, func(e Entry, now time.Time) (Entry, error) {
		if e.Version != seen.Version || count >= e.History.Newest() {
			return e, ErrNoChange
		}
		return c.automatic(e, count, note, now)
	})
}

// Pin sets the shard count of a base key ahead of a known peak. The controller
// leaves it alone until Unpin. A key that is pinned at this count stays as it is.
func (c *Changer) Pin(ctx context.Context, key string, count int, note Note, now time.Time) (Entry, error) {
	return asAsked(c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if e.Pinned && count == e.History.Newest() {
			return e, ErrNoChange
		}
		e.Pinned = true
		return c.step(e, count, note, now)
	}))
}

// Unpin hands the shard count of a base key back to the controller. A key that is not pinned
// stays as it is.
func (c *Changer) Unpin(ctx context.Context, key string, note Note, now time.Time) (Entry, error) {
	return asAsked(c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if !e.Pinned {
			return e, ErrNoChange
		}
		e.Pinned = false
		return c.step(e, e.History.Newest(), note, now)
	}))
}

// asAsked takes a key that needs no change for one that was changed.
func asAsked(e Entry, err error) (Entry, error) {
	if errors.Is(err, ErrNoChange) {
		err = nil
	}
	return e, err
}

// automatic is a step that no person asked for.
func (c *Changer) automatic(e Entry, count int, note Note, now time.Time) (Entry, error) {
	if e.Pinned {
		return e, ErrPinned
	}
	return c.step(e, count, note, now)
}

// step returns the entry after a change at now.
func (c *Changer) step(e Entry, count int, note Note, now time.Time) (Entry, error) {
	if count < 1 || count > shard.MaxShards {
		return e, fmt.Errorf("%w: shard count %d: want 1 to %d", shard.ErrMisused, count, shard.MaxShards)
	}
	at := now.Add(c.lead + time.Millisecond - 1).Round(0).Truncate(time.Millisecond).UTC()
	if last := e.Effective(); !at.After(last) {
		at = last.Add(time.Millisecond)
	}
	next := Entry{Key: e.Key, Version: e.Version + 1, Updated: dated(now), Max: max(e.Most(), count), Pinned: e.Pinned}
	kept := c.pruned(e, now)
	next.Forgotten = e.Forgotten || len(kept) < len(e.History)
	next.History = append(kept, shard.Change{At: at, Count: count})
	next.Notes = map[int64]Note{at.UnixMilli(): note}
	for _, change := range next.History[max(0, len(next.History)-maxNotes):] {
		if n, ok := e.Notes[change.At.UnixMilli()]; ok {
			next.Notes[change.At.UnixMilli()] = n
		}
	}
	return next, nil
}

// dated is a time as entries have it.
func dated(t time.Time) time.Time { return t.Round(0).Truncate(time.Millisecond).UTC() }

// pruned drops the changes that no event kept can depend on: those that were
// over before the retention's begin. Of counters, boards and sessions, whose places depend on
// no time, it leaves what the log can say with one more.
func (c *Changer) pruned(e Entry, now time.Time) shard.History {
	h, first := e.History, 0
	for c.keep > 0 && first+1 < len(h) && h[first+1].At.Before(now.Add(-c.keep)) {
		first++
	}
	if timeless(e.Key) {
		first = max(first, len(h)-maxLogged+1)
	}
	return append(shard.History(nil), h[first:]...)
}

// timeless tells whether no item of a key has its place by a count of the past.
func timeless(key string) bool {
	base, err := schema.ParseBaseKey(key)
	return err == nil && base.Type != schema.Entity && base.Type != schema.Limit
}

// change makes what decide makes of the key's entry, and tells everyone. Those who
// contend for one key wait for a random while and decide again on what is there then.
func (c *Changer) change(ctx context.Context, key string, now time.Time, decide func(Entry, time.Time) (Entry, error)) (Entry, error) {
	if len(key) > maxSortKey {
		return Entry{Key: key}, describe(key, fmt.Errorf("%w: it has %d bytes, of at most %d", shard.ErrMisused, len(key), maxSortKey))
	}
	begin := time.Now().Round(0)
	ctx, cancel := context.WithTimeout(ctx, c.bound)
	defer cancel()
	for {
		entry, err := c.attempt(ctx, key, now.Add(dynamo.Since(begin)), decide, func() bool { return dynamo.Since(begin) > c.bound })
		if err == nil || !contended(err) {
			return entry, describe(key, err)
		}
		select {
		case <-ctx.Done():
			return entry, describe(key, fmt.Errorf("%w: %w", shard.ErrUnavailable, err))
		case <-time.After(rand.N(100 * time.Millisecond)):
		}
	}
}

func describe(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("changing the shard count of %q: %w", key, dynamo.Kind(err))
}

func contended(err error) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && dynamo.HasReason(canceled, "ConditionalCheckFailed", "TransactionConflict") || dynamo.IsConflict(err)
}

// attempt makes one try of a change, unless it is late by the time of the commit.
func (c *Changer) attempt(ctx context.Context, key string, now time.Time, decide func(Entry, time.Time) (Entry, error), late func() bool) (Entry, error) {
	old, err := c.Read(ctx, key)
	if err != nil {
		return Entry{}, err
	}
	next, err := decide(old, now)
	if err != nil {
		c.adopt(old, old.Version > 0 || len(old.History) > 0, now)
		return old, err
	}
	if late() {
		return old, fmt.Errorf("%w: the change came too late to be made", shard.ErrUnavailable)
	}
	if err := c.commit(ctx, old, next); err != nil {
		return old, err
	}
	c.adopt(next, true, now)
	return next, nil
}

// commit puts the key's item, if it still is what was read, and tells of it in the log.
func (c *Changer) commit(ctx context.Context, old, next Entry) error {
	entry := &types.Put{TableName: &c.table, Item: next.attributes()}
	entry.ConditionExpression, entry.ExpressionAttributeValues = unchanged(old)
	log := &types.Put{TableName: &c.table, Item: next.logItem()}
	_, err := c.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{{Put: entry}, {Put: log}},
	}, dynamo.NoRetry)
	return err
}

// unchanged is the condition that a key's item still is what was read. One that was
// written by other means may have no version.
func unchanged(e Entry) (condition *string, values dynamo.Item) {
	if e.Version == 0 {
		return aws.String("attribute_not_exists(version)"), nil
	}
	return aws.String("version = :old"), dynamo.Item{":old": dynamo.Number(e.Version)}
}
