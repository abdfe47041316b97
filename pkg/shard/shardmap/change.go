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

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// maxNotes bounds the notes in a key's item: only the newest changes have one.
const maxNotes = 20

// Errors of a change that was not made; use errors.Is.
var (
	// ErrPinned means that an operator has pinned the count.
	ErrPinned = errors.New("the shard count is pinned")
	// ErrNoChange means that the key already has the requested state, or a count beyond it, or that
	// another caller changed it first.
	ErrNoChange = errors.New("there is nothing to change")
	// ErrFull means that the map has MaxKeys keys, and the key is not among them.
	ErrFull = fmt.Errorf("the shard map is full: it has %d keys; delete keys that are no longer written", MaxKeys)
)

// ChangerClient has the DynamoDB calls of a Changer.
type ChangerClient interface {
	Client
	client.Putter
	client.Transactor
}

// Changer changes shard counts. A change is one transaction: the key's item, on condition of its
// version, and an item in each of four copies of the log.
//
// A change of a counter, board or group of sessions takes effect at once. So does a growth for new events and random
// suffixes. Other growths take effect after the lead (see [Options]), other decreases three minutes after it.
type Changer struct {
	*Map
	client                       ChangerClient
	keep                         time.Duration    // as in ChangerOptions
	clock                        func() time.Time // as in ChangerOptions; nil in tests that pass any time
	lead, shrinkLead, commitTime time.Duration    // the map's lead and the constants; tests change them
	maxKeys                      int
}

// ChangerOptions configure a Changer. The zero value is ready to use.
type ChangerOptions struct {
	// Keep is how long changes stay in a key's history; 0 keeps them forever. Keep must be at least [HistoryKept] of
	// the retention of events. With a shorter Keep, the shard count at the beginning of a limit's window may be lost,
	// and the limit may allow more hits than its Max.
	Keep time.Duration
	// Clock returns the current time, by which changes are dated; nil is time.Now. It may differ by at most a second
	// from the clocks of all other processes.
	Clock func() time.Time
}

// NewChanger returns a Changer that reads and updates the view of a Map. With a nil client or Map
// its calls return ErrMisused.
func NewChanger(db ChangerClient, view *Map, o ChangerOptions) *Changer {
	switch {
	case view == nil:
		view = New(nil, "", Options{})
	case dynamo.CheckClient(db) != nil: // the calls check the Map's client only
		view = New(nil, view.table, view.options)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Changer{
		Map: view, client: db, keep: o.Keep, clock: o.Clock,
		lead: view.options.lead(), shrinkLead: shrinkLead, commitTime: CommitTime, maxKeys: MaxKeys,
	}
}

// GrowFrom raises a key's shard count to count and returns the new entry. If count is not larger, or seen is no longer
// the key's newest entry, it returns ErrNoChange with the newest entry. So only one of several callers with the same
// evidence makes the change. For a pinned key it returns ErrPinned.
func (c *Changer) GrowFrom(ctx context.Context, seen Entry, count int, note Note, now time.Time) (Entry, error) {
	return c.changeFrom(ctx, seen, count, note, now, func(newest int) bool { return count > newest })
}

// ShrinkFrom lowers a key's shard count to count, with the results of GrowFrom: it returns ErrNoChange if count is not
// smaller, or seen is no longer the key's newest entry, so that it undoes no growth.
func (c *Changer) ShrinkFrom(ctx context.Context, seen Entry, count int, note Note, now time.Time) (Entry, error) {
	return c.changeFrom(ctx, seen, count, note, now, func(newest int) bool { return count < newest })
}

// changeFrom sets a key's shard count without an operator's request. It returns ErrNoChange if the key's entry is no
// longer seen, or if allows returns false for the newest count. It returns ErrPinned if the key is pinned.
func (c *Changer) changeFrom(ctx context.Context, seen Entry, count int, note Note, now time.Time, allows func(newest int) bool) (Entry, error) {
	return c.change(ctx, seen.Key, now, func(e Entry, now time.Time) (Entry, error) {
		switch {
		case e.Version != seen.Version, !allows(e.History.Newest()):
			return e, ErrNoChange
		case e.Pinned:
			return e, ErrPinned
		}
		return c.nextEntry(e, count, note, now)
	})
}

// Pin sets the shard count of a base key, for example ahead of a known peak, and returns the new entry. hotshard does
// not change the count of a pinned key by itself. Pinning again at the same count changes nothing, and is no error.
func (c *Changer) Pin(ctx context.Context, key string, count int, note Note, now time.Time) (Entry, error) {
	return ignoreNoChange(c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if e.Pinned && count == e.History.Newest() {
			return e, ErrNoChange
		}
		e.Pinned = true
		return c.nextEntry(e, count, note, now)
	}))
}

// Unpin lets hotshard change the shard count of a base key again, and returns the entry. A key that is
// not pinned stays as it is, without an error.
func (c *Changer) Unpin(ctx context.Context, key string, note Note, now time.Time) (Entry, error) {
	return ignoreNoChange(c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if !e.Pinned {
			return e, ErrNoChange
		}
		e.Pinned = false
		return c.nextEntry(e, e.History.Newest(), note, now)
	}))
}

// ignoreNoChange returns the entry, and the error unless it is ErrNoChange.
func ignoreNoChange(e Entry, err error) (Entry, error) {
	if errors.Is(err, ErrNoChange) {
		err = nil
	}
	return e, err
}

// decision returns the entry that replaces old in a change at now, or an error if the change must not be made.
type decision func(old Entry, now time.Time) (Entry, error)

// change replaces a key's entry by the result of decide, updates the view, and returns the new entry. After a conflict
// it waits for a random time, and calls decide again with the current entry, until commitTime has passed.
func (c *Changer) change(ctx context.Context, key string, now time.Time, decide decision) (Entry, error) {
	if len(key) > maxSortKey {
		return Entry{Key: key}, changeError(key, fmt.Errorf("%w: the key has %d bytes, of at most %d: use a shorter name", shard.ErrMisused, len(key), maxSortKey))
	}
	now, err := c.changeTime(now)
	if err != nil {
		return Entry{Key: key}, changeError(key, err)
	}
	begin := time.Now().Round(0) // the wall clock runs on while Lambda freezes the process; ctx's timer does not
	isLate := func() bool { return dynamo.Since(begin) > c.commitTime }
	ctx, cancel := context.WithTimeout(ctx, c.commitTime)
	defer cancel()
	for {
		entry, err := c.tryChange(ctx, key, now.Add(dynamo.Since(begin)), decide, isLate)
		if err == nil || !isContended(err) {
			return entry, changeError(key, err)
		}
		select {
		case <-ctx.Done():
			return entry, changeError(key, fmt.Errorf("%w: %w", shard.ErrUnavailable, err))
		case <-time.After(rand.N(100 * time.Millisecond)):
		}
	}
}

// changeError adds the key to an error of a change, and its kind; nil stays nil.
func changeError(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("changing the shard count of %q: %w", key, dynamo.Classify(err))
}

// isContended reports whether another change of the key came first, so that a retry may succeed.
func isContended(err error) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && dynamo.HasReasonCode(canceled, "ConditionalCheckFailed", "TransactionConflict") || dynamo.IsConflict(err)
}

// tryChange makes one attempt of a change, and returns the new entry. If isLate returns true before the commit, it
// commits nothing and returns ErrUnavailable.
func (c *Changer) tryChange(ctx context.Context, key string, now time.Time, decide decision, isLate func() bool) (Entry, error) {
	old, err := c.Read(ctx, key)
	if err != nil {
		return Entry{}, err
	}
	if err := checkNewest(old, now); err != nil {
		return old, err
	}
	next, err := decide(old, now)
	if err != nil {
		c.updateView(old, !old.isNew())
		return old, err
	}
	if old.isNew() && !isPartitionCount(key) && c.current().size() >= c.maxKeys {
		return old, ErrFull
	}
	if isLate() {
		return old, fmt.Errorf("%w: the change was not ready within %v, and was not made; try again", shard.ErrUnavailable, c.commitTime)
	}
	err = withTimeLimit(ctx, c.commitTime/2, func(ctx context.Context) error { return c.commit(ctx, old, next) })
	if err != nil && dynamo.MayApply(err) {
		next, err = c.resolveUnknown(ctx, old, next, decide, isLate, err)
	}
	if err != nil {
		return old, err
	}
	c.updateView(next, true)
	return next, nil
}

// isNew reports whether the entry's key is not in the map.
func (e Entry) isNew() bool { return e.Version == 0 && len(e.History) == 0 }

// commit puts the key's item on condition that it is unchanged, and the change into every copy of the log.
func (c *Changer) commit(ctx context.Context, old, next Entry) error {
	_, err := c.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: append([]types.TransactWriteItem{{Put: c.replacementPut(old, next)}}, c.logPuts(next)...),
	}, dynamo.NoRetry)
	return err
}

// replacementPut returns the put of next's item, on condition that the stored item still has old's version. Version 0
// means that there is no item, or that another program wrote the item without a version.
func (c *Changer) replacementPut(old, next Entry) *types.Put {
	put := &types.Put{TableName: &c.table, Item: next.attributes(), ConditionExpression: aws.String("attribute_not_exists(version)")}
	if old.Version > 0 {
		put.ConditionExpression, put.ExpressionAttributeValues = aws.String("version = :old"), dynamo.Item{":old": dynamo.Number(old.Version)}
	}
	return put
}
