package ddb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Times of a change. A process's view of the map is at most ViewAge old, events
// may lie 5 s ahead, and a change is given up when it isn't committed within
// CommitTime: together 9 s, which leaves a second of LeadTime for clocks that
// differ. So everyone agrees on the shard count at t before anyone writes an
// event at t.
const (
	LeadTime   = 10 * time.Second
	CommitTime = time.Second
)

// keptChanges is how many changes the log keeps. Each change removes the one that
// many before it, so that the log has no holes. A view that is too old to be
// brought up by the log, an hour, is read anew: more changes an hour than these
// would be missed.
const keptChanges = 10_000

// maxNotes is of how many changes a key's item says who made them, and why.
const maxNotes = 20

// Why a change was not made; use errors.Is.
var (
	// ErrPinned means that a person has set the count.
	ErrPinned = errors.New("the shard count is pinned")
	// ErrCooldown means that the last change is too recent.
	ErrCooldown = errors.New("the last change is too recent")
	// ErrNoChange means that the count already is what was asked for, or beyond.
	ErrNoChange = errors.New("there is nothing to change")
)

// ChangerClient is what a MapChanger calls of DynamoDB.
type ChangerClient interface {
	MapClient
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// MapChanger changes shard counts. A change is one transaction: the key's item,
// conditional on its version, and the next item of the change log, conditional on
// its absence. It comes into force LeadTime later for events, and at once for
// counters.
type MapChanger struct {
	*Map
	client   ChangerClient
	cooldown time.Duration
	keep     time.Duration
	lead     time.Duration // LeadTime, but in tests
	bound    time.Duration // CommitTime, but in tests
}

// ChangerOptions are how a MapChanger works. The zero value is good.
type ChangerOptions struct {
	// Cooldown is how long after the last change came into force the controller
	// leaves a key alone; default 10 s, negative for none. Pins don't wait.
	Cooldown time.Duration
	// Keep is how long changes stay in a key's history; 0 keeps them for ever. It
	// must be what [HistoryKept] says of the time that events are kept, or longer: with
	// less, sessions cost more than they need to, and the count at the begin of a limit's
	// window is taken for 1 once its change is forgotten, so that the limit is divided
	// otherwise and more hits may be allowed.
	Keep time.Duration
}

// NewMapChanger returns a MapChanger that shares a Map's view.
func NewMapChanger(client ChangerClient, view *Map, o ChangerOptions) *MapChanger {
	if o.Cooldown == 0 {
		o.Cooldown = 10 * time.Second
	}
	return &MapChanger{Map: view, client: client, cooldown: o.Cooldown, keep: o.Keep, lead: LeadTime, bound: CommitTime}
}

// Grow raises the shard count of a base key. It returns the key's entry, also
// with ErrPinned, ErrCooldown and ErrNoChange.
func (c *MapChanger) Grow(ctx context.Context, key string, count int, note Note, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if count <= e.History.Newest() {
			return e, ErrNoChange
		}
		return c.automatic(e, count, note, now)
	})
}

// Shrink lowers the shard count of a base key.
func (c *MapChanger) Shrink(ctx context.Context, key string, count int, note Note, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if count >= e.History.Newest() {
			return e, ErrNoChange
		}
		return c.automatic(e, count, note, now)
	})
}

// Pin sets the shard count of a base key ahead of a known peak. The controller
// leaves it alone until Unpin.
func (c *MapChanger) Pin(ctx context.Context, key string, count int, note Note, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if e.Pinned && count == e.History.Newest() {
			return e, ErrNoChange
		}
		e.Pinned = true
		return c.step(e, count, note, now)
	})
}

// Unpin hands the shard count of a base key back to the controller.
func (c *MapChanger) Unpin(ctx context.Context, key string, note Note, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if !e.Pinned {
			return e, ErrNoChange
		}
		e.Pinned = false
		return c.step(e, e.History.Newest(), note, now)
	})
}

// automatic is a step that no person asked for.
func (c *MapChanger) automatic(e Entry, count int, note Note, now time.Time) (Entry, error) {
	switch {
	case e.Pinned:
		return e, ErrPinned
	case now.Before(e.Effective().Add(c.cooldown)):
		return e, ErrCooldown
	}
	return c.step(e, count, note, now)
}

// step returns the entry after a change at now.
func (c *MapChanger) step(e Entry, count int, note Note, now time.Time) (Entry, error) {
	if count < 1 || count > shard.MaxShards {
		return e, fmt.Errorf("shard count %d: want 1 to %d", count, shard.MaxShards)
	}
	at := ceilSecond(now.Add(c.lead))
	if last := e.Effective(); !at.After(last) {
		at = last.Add(time.Second)
	}
	next := e
	next.Version++
	next.Updated = now.Truncate(time.Second).UTC()
	next.Max = max(e.Most(), count)
	next.History = append(c.pruned(e.History, now), shard.Change{At: at.UTC(), Count: count})
	next.Notes = map[int64]Note{at.Unix(): note}
	for _, change := range next.History[max(0, len(next.History)-maxNotes):] {
		if n, ok := e.Notes[change.At.Unix()]; ok {
			next.Notes[change.At.Unix()] = n
		}
	}
	return next, nil
}

func ceilSecond(t time.Time) time.Time {
	t = t.Round(0)
	if down := t.Truncate(time.Second); down.Before(t) {
		return down.Add(time.Second)
	}
	return t
}

// pruned drops the changes that no event kept can depend on: those that were
// over before the retention's begin.
func (c *MapChanger) pruned(h shard.History, now time.Time) shard.History {
	first := 0
	for c.keep > 0 && first+1 < len(h) && h[first+1].At.Before(now.Add(-c.keep)) {
		first++
	}
	return append(shard.History(nil), h[first:]...)
}

// change makes what decide makes of the key's entry, and tells everyone. Those
// who contend for one key, or for a place in the log, wait for a random while and
// decide again on what is there then. A view that has to be loaded first takes its
// time before the change's begins.
func (c *MapChanger) change(ctx context.Context, key string, now time.Time, decide func(Entry, time.Time) (Entry, error)) (Entry, error) {
	if err := usable(key); err != nil {
		return Entry{Key: key}, describe(key, err)
	}
	begin := time.Now().Round(0)
	if err := c.renew(ctx, now.Round(0)); err != nil {
		return Entry{}, describe(key, err)
	}
	now, begin = now.Add(since(begin)), time.Now().Round(0)
	ctx, cancel := context.WithTimeout(ctx, c.bound)
	defer cancel()
	for {
		entry, err := c.attempt(ctx, key, now.Add(since(begin)), decide, func() bool { return since(begin) > c.bound })
		if err == nil || !contended(err) {
			return entry, describe(key, err)
		}
		select {
		case <-ctx.Done():
			return entry, describe(key, fmt.Errorf("%w: %w", ErrUnavailable, err))
		case <-time.After(time.Duration(rand.Int64N(int64(100 * time.Millisecond)))):
		}
	}
}

// since is by the wall clock: that of a frozen process stands still otherwise.
func since(begin time.Time) time.Duration { return time.Now().Round(0).Sub(begin) }

func describe(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("changing the shard count of %q: %w", key, Kind(err))
}

func contended(err error) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && hasReason(canceled, "ConditionalCheckFailed", "TransactionConflict") || isConflict(err)
}

// attempt makes one try of a change, unless it is late by the time of the commit.
func (c *MapChanger) attempt(ctx context.Context, key string, now time.Time, decide func(Entry, time.Time) (Entry, error), late func() bool) (Entry, error) {
	seq, err := c.latest(ctx, now)
	if err != nil {
		return Entry{}, err
	}
	old, err := c.Read(ctx, key)
	if err != nil {
		return Entry{}, err
	}
	next, err := decide(old, now)
	if err != nil {
		return old, err
	}
	if late() {
		return old, fmt.Errorf("%w: the change came too late to be made", ErrUnavailable)
	}
	if err := c.commit(ctx, old, next, seq+1); err != nil {
		return old, err
	}
	c.current().own(seq+1, next)
	return next, nil
}

func (c *MapChanger) commit(ctx context.Context, old, next Entry, seq int64) error {
	it := next.attributes()
	it[schema.PK] = &types.AttributeValueMemberS{Value: next.Key}
	entry := &types.Put{TableName: &c.table, Item: it}
	entry.ConditionExpression, entry.ExpressionAttributeValues = unchanged(old)
	log := next.attributes()
	log[attrKey] = &types.AttributeValueMemberS{Value: next.Key}
	return c.append(ctx, seq, log, types.TransactWriteItem{Put: entry})
}

// unchanged is the condition that a key's item still is what was read. One that was
// written by other means may have no version.
func unchanged(e Entry) (condition *string, values item) {
	if e.Version == 0 {
		return aws.String("attribute_not_exists(version)"), nil
	}
	return aws.String("version = :old"), item{":old": number(e.Version)}
}

// append puts the next item into the log, on condition that there is none, in one
// transaction with what it says.
func (c *MapChanger) append(ctx context.Context, seq int64, log item, actions ...types.TransactWriteItem) error {
	log[schema.PK] = logKey(seq)[schema.PK]
	actions = append(actions, types.TransactWriteItem{
		Put: &types.Put{TableName: &c.table, Item: log, ConditionExpression: aws.String("attribute_not_exists(pk)")},
	})
	if seq > keptChanges {
		actions = append(actions, types.TransactWriteItem{Delete: &types.Delete{TableName: &c.table, Key: logKey(seq - keptChanges)}})
	}
	_, err := c.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, once)
	return err
}
