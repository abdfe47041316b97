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

	"github.com/hotshard/hotshard/internal/base/busy"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// maxNotes bounds how many changes of a key have a note in its item.
const maxNotes = 20

// Errors of a change that was not made; use errors.Is.
var (
	// ErrPinned means that an operator has pinned the count.
	ErrPinned = errors.New("the shard count is pinned")
	// ErrNoChange means that the count already has the requested value, or lies beyond it,
	// or that another caller changed it first.
	ErrNoChange = errors.New("there is nothing to change")
)

// ChangerClient has the DynamoDB calls of a Changer.
type ChangerClient interface {
	Client
	client.Putter
	client.Updater
	client.Transactor
}

// Changer changes shard counts. A change is one transaction: the key's item,
// conditional on its version, and an item in each of four copies of the log. For events, a
// change takes effect after the lead (see [Options]), and a decrease three minutes later; for
// counters, at once.
type Changer struct {
	*Map
	client ChangerClient
	o      ChangerOptions // the Clock is nil in tests that pass any time
	lead   time.Duration  // the map's, but in tests
	longer time.Duration  // shrinkLead, but in tests
	bound  time.Duration  // CommitTime, but in tests
}

// ChangerOptions configure a Changer. The zero value is ready to use.
type ChangerOptions struct {
	// Keep is how long changes stay in a key's history; 0 keeps them forever. It must be at
	// least the result of [HistoryKept] for the retention of events. If it is shorter, the
	// count at the begin of a limit's window may be forgotten and taken for 1. The limit is
	// then divided differently, and may allow more hits.
	Keep time.Duration
	// Timeless reports whether no item's write shard depends on a past count of the key. The
	// history of such a key keeps only the newest changes. Nil is for maps without such keys.
	// For a map with no keys but hotshard's own, it is [TimelessKey].
	Timeless func(key string) bool
	// Clock returns the current time, by which changes are dated; nil is time.Now. It must be at
	// most a second from the clocks of all other processes.
	Clock func() time.Time
}

// TimelessKey reports, by a key's prefix, whether it is the base key of a counter, a board or a
// group of sessions.
func TimelessKey(key string) bool {
	base, err := schema.ParseBaseKey(key)
	return err == nil && kind.Of(base.Type).Timeless
}

func init() {
	busy.SetCommit = func(changer any, bound time.Duration) { changer.(*Changer).bound = bound }
	busy.AnyTime = func(changer any) { changer.(*Changer).o.Clock = nil }
	busy.SetLead = func(changer any, lead time.Duration) { changer.(*Changer).lead = lead }
}

// NewChanger returns a Changer that reads and updates the view of a Map. With a nil client or Map
// its calls return ErrMisused.
func NewChanger(db ChangerClient, view *Map, o ChangerOptions) *Changer {
	switch {
	case view == nil:
		view = New(nil, "", Options{})
	case dynamo.CheckClient(db) != nil:
		view = New(nil, view.table, view.options)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Changer{Map: view, client: db, o: o, lead: view.options.lead(), longer: shrinkLead, bound: CommitTime}
}

// GrowFrom raises a key's shard count to count and returns the new entry. seen must still be
// the key's newest entry, so only one of the callers with the same evidence makes the
// change. The others get ErrNoChange with the winner's entry, which the view then has. A
// pinned key is ErrPinned. Other errors leave the view as it is.
func (c *Changer) GrowFrom(ctx context.Context, seen Entry, count int, note Note, now time.Time) (Entry, error) {
	return c.change(ctx, seen.Key, now, func(e Entry, now time.Time) (Entry, error) {
		if e.Version != seen.Version || count <= e.History.Newest() {
			return e, ErrNoChange
		}
		return c.automatic(e, count, note, now)
	})
}

// ShrinkFrom lowers a key's shard count to count and returns the new entry. It returns
// ErrNoChange if seen is no longer the key's newest entry, so that it undoes no growth.
func (c *Changer) ShrinkFrom(ctx context.Context, seen Entry, count int, note Note, now time.Time) (Entry, error) {
	return c.change(ctx, seen.Key, now, func(e Entry, now time.Time) (Entry, error) {
		if e.Version != seen.Version || count >= e.History.Newest() {
			return e, ErrNoChange
		}
		return c.automatic(e, count, note, now)
	})
}

// Pin sets the shard count of a base key ahead of a known peak and returns the new entry.
// The controller leaves a pinned key alone until Unpin. Pinning it again at the same count
// changes nothing and is no error.
func (c *Changer) Pin(ctx context.Context, key string, count int, note Note, now time.Time) (Entry, error) {
	return asAsked(c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if e.Pinned && count == e.History.Newest() {
			return e, ErrNoChange
		}
		e.Pinned = true
		return c.step(e, count, note, now)
	}))
}

// Unpin returns the shard count of a base key to the controller's care. A key that is not
// pinned stays as it is, without an error.
func (c *Changer) Unpin(ctx context.Context, key string, note Note, now time.Time) (Entry, error) {
	return asAsked(c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if !e.Pinned {
			return e, ErrNoChange
		}
		e.Pinned = false
		return c.step(e, e.History.Newest(), note, now)
	}))
}

// asAsked returns no error for a key that needed no change.
func asAsked(e Entry, err error) (Entry, error) {
	if errors.Is(err, ErrNoChange) {
		err = nil
	}
	return e, err
}

// automatic returns the entry after a change that no operator requested.
func (c *Changer) automatic(e Entry, count int, note Note, now time.Time) (Entry, error) {
	if e.Pinned {
		return e, ErrPinned
	}
	return c.step(e, count, note, now)
}

// step returns the entry after a change at now. A growth takes effect after the lead, and lowers
// no count. It hides pending decreases: they take effect for a millisecond before it, so that
// look-ups know the counts that other processes may use. A decrease takes effect after all
// processes have read it, even if it is committed late and its changer died.
func (c *Changer) step(e Entry, count int, note Note, now time.Time) (Entry, error) {
	if count < 1 || count > shard.MaxShards {
		return e, fmt.Errorf("%w: shard count %d: want 1 to %d", shard.ErrMisused, count, shard.MaxShards)
	}
	at := now.Add(c.lead + time.Millisecond - 1).Round(0).Truncate(time.Millisecond).UTC()
	if count < e.History.Newest() && !c.timeless(e.Key) {
		at = at.Add(c.longer)
	}
	h := c.pruned(e, now)
	next := Entry{Key: e.Key, Version: e.Version + 1, Updated: dated(now), Max: max(e.Most(), count), Pinned: e.Pinned, Notes: map[int64]Note{}}
	next.Forgotten = e.Forgotten || len(h) < len(e.History)
	hidden := len(h)
	pending := func(i int) bool { return i >= 0 && !h[i].At.Before(at) }
	for pending(hidden-1) && (h[hidden-1].Count < count || h[hidden-1].Count == count && h[:hidden-1].Newest() > count) {
		hidden--
	}
	if hidden < len(h) && (pending(hidden-1) || h[:hidden].Newest() > count) {
		at = h[hidden].At // the count until then is at least as large
	}
	for i := range h {
		noted, ok := e.Notes[h[i].At.UnixMilli()]
		if i >= hidden {
			h[i].At, at = at, at.Add(time.Millisecond)
		}
		if ok && i > len(h)-maxNotes {
			next.Notes[h[i].At.UnixMilli()] = noted
		}
	}
	if last := len(h) - 1; last >= 0 && !at.After(h[last].At) {
		at = h[last].At.Add(time.Millisecond)
	}
	next.History = append(h, shard.Change{At: at, Count: count})
	note.Made = next.Updated
	next.Notes[at.UnixMilli()] = note
	return next, nil
}

// dated returns a time with the precision of entries: milliseconds, in UTC.
func dated(t time.Time) time.Time { return t.Round(0).Truncate(time.Millisecond).UTC() }

// pruned returns the history without the changes on which no retained event can depend: they
// ended before the retention's begin. A timeless kind keeps at most what fits into a log item
// together with the next change.
func (c *Changer) pruned(e Entry, now time.Time) shard.History {
	h, first := e.History, 0
	for c.o.Keep > 0 && first+1 < len(h) && h[first+1].At.Before(now.Add(-c.o.Keep)) {
		first++
	}
	if c.timeless(e.Key) {
		first = max(first, len(h)-maxLogged+1)
	}
	return append(shard.History(nil), h[first:]...)
}

func (c *Changer) timeless(key string) bool { return c.o.Timeless != nil && c.o.Timeless(key) }

// clockError bounds how far a caller's time may be from the Changer's clock, and the clock behind
// the key's newest change.
const clockError = 5 * time.Second

// timely returns the clock's time, by which changes are dated. It rejects a caller's time that the
// clock contradicts: processes that poll the log would miss a change that is dated before their
// last poll, and a change that is dated far ahead would take effect then.
func (c *Changer) timely(now time.Time) (time.Time, error) {
	if now.IsZero() {
		return now, fmt.Errorf("%w: the time of a change is zero: pass the current time", shard.ErrMisused)
	}
	if c.o.Clock == nil {
		return now, nil
	}
	clock := c.o.Clock()
	switch off := now.Sub(clock); {
	case off < -clockError:
		return now, fmt.Errorf("%w: the time of a change is %v behind the clock: pass the current time", shard.ErrMisused, -off)
	case off > clockError:
		return now, fmt.Errorf("%w: the time of a change is %v ahead of the clock: pass the current time", shard.ErrMisused, off)
	}
	return clock, nil
}

// follows returns an error if the key's newest change is from after now.
func follows(e Entry, now time.Time) error {
	if ahead := e.Updated.Sub(now); ahead > clockError {
		return fmt.Errorf("%w: the newest change is dated %v after now: check this clock and that of %q", shard.ErrMisused, ahead, e.Notes[e.Effective().UnixMilli()].By)
	}
	return nil
}

// decision returns the entry that replaces another one at a time.
type decision func(old Entry, now time.Time) (Entry, error)

// change replaces a key's entry by the result of decide and updates the view. After a
// conflict it waits for a random time and decides again on the current entry.
func (c *Changer) change(ctx context.Context, key string, now time.Time, decide decision) (Entry, error) {
	if len(key) > maxSortKey {
		return Entry{Key: key}, describe(key, fmt.Errorf("%w: it has %d bytes, of at most %d", shard.ErrMisused, len(key), maxSortKey))
	}
	now, err := c.timely(now)
	if err != nil {
		return Entry{Key: key}, describe(key, err)
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
func (c *Changer) attempt(ctx context.Context, key string, now time.Time, decide decision, late func() bool) (Entry, error) {
	old, err := c.Read(ctx, key)
	if err != nil {
		return Entry{}, err
	}
	if err := follows(old, now); err != nil {
		return old, err
	}
	next, err := decide(old, now)
	if err != nil {
		c.adopt(old, old.Version > 0 || len(old.History) > 0, now)
		return old, err
	}
	if late() {
		return old, fmt.Errorf("%w: the change came too late to be made", shard.ErrUnavailable)
	}
	err = promptly(ctx, c.bound/2, func(ctx context.Context) error { return c.commit(ctx, old, next) })
	if err != nil && dynamo.MayApply(err) {
		next, err = c.settle(ctx, old, next, decide, late, err)
	}
	if err != nil {
		return old, err
	}
	c.adopt(next, true, now)
	return next, nil
}

// commit puts the key's item, if it still is what was read, and the change into every log.
func (c *Changer) commit(ctx context.Context, old, next Entry) error {
	entry := &types.Put{TableName: &c.table, Item: next.attributes()}
	entry.ConditionExpression, entry.ExpressionAttributeValues = unchanged(old)
	_, err := c.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: append([]types.TransactWriteItem{{Put: entry}}, c.inLogs(types.Put{Item: next.logItem()})...),
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
