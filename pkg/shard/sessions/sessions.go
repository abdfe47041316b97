package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client is what Sessions call of DynamoDB.
type Client interface {
	ReaderClient
	dynamo.Putter
	dynamo.Updater
	dynamo.Deleter
	dynamo.Transactor
}

// Bounds of a session's time to live.
const (
	MinTTL = time.Second
	MaxTTL = shardmap.LongestLife
)

// Sessions keeps the sessions of groups: who is active, until when, with which
// data.
//
//	sessions := New(client, "hotshard-items", shards, shardmap.Unwatched{})
//	_, err := sessions.Put(ctx, Lease{Group: "shop", ID: "u-17", TTL: 30 * time.Minute}, now)
//	n, err := sessions.Active(ctx, "shop", now)
//	err = sessions.End(ctx, "shop", "u-17", now)
//
// A session that is put again while it is active is renewed: it ends TTL after
// that, has begun when it had, and keeps its data unless it is given other. One
// that has ended, by its time or by End, begins anew. It ends to the millisecond:
// that DynamoDB's TTL removes an item hours later makes no difference.
//
// # Where a session is
//
// A session is one item, on the write shard that its id has among the shard count
// in force at the time of the call. As with events, processes agree on that count,
// and a call with a view of the shard map that is too old is an error of kind
// [shard.ErrStale]. After a change of the count a session moves with its next renewal: one
// transaction puts it where it belongs now and leaves a trace where it was, which
// a write that is late can't overwrite. From two seconds before a change to five after
// it, a new session leaves one where it would have belonged, too. So there is never
// more than one, unless a write takes longer than that: Put then looks after it. Only
// one of a keyed call, or one whose answer is lost, may leave a second item; the newer
// one counts, and End removes both.
//
// # What it costs
//
// In write units, for items below 1 KB. "After a change" is for as long as a
// session from before it may be active, [MaxTTL]. Places are the write
// shards that the id has under the counts since then, up to one for each change.
//
//	          no change   after a change
//	renewed   1           1; when it moves, once, 5 and a read unit a place
//	new       1           2 and a read unit a place; from two seconds before to five
//	                      after, 5 and a read unit a place
//	ended     1           1 and a read unit a place
//
// Of 5 units, 3 are where the session belongs now and 2 where it was: a partition that
// the group has outgrown takes twice as much for a renewal that moves as for one before,
// until all sessions on it have moved or ended. New ones cost it reads only.
//
// A new session of an id that had one before, which TTL has not removed yet, costs
// what a new one does after a change.
//
// The active count reads all of the group's sessions, and those that have ended that
// TTL has not removed: a read unit for 8 KB, and at least half a unit for each write
// shard that the group had within MaxTTL. One that ended within about half a
// minute of a move is looked up, if the reading comes within that time.
//
// # Heat
//
// A write that a partition refuses has no other place to go: it waits, and looks at
// the shard count anew. The [shardmap.Watcher] is told, as for events.
type Sessions struct {
	*Reader
	client Client
	watch  shardmap.Watcher
	told   *watching.Transactions
}

// Options are how Sessions work. The zero value is good.
type Options struct {
	Watch shardmap.Watcher // is told how the groups fare; nil for nobody
}

// New returns Sessions over the items table.
func New(client Client, table string, shards *shardmap.Map, o Options) *Sessions {
	return &Sessions{Reader: NewReader(client, table, shards), client: client, watch: watching.Or(o.Watch), told: watching.New(client, table, shards, o.Watch)}
}

// Session is what is known of one session.
type Session struct {
	Group, ID string
	Data      map[string]types.AttributeValue // the caller's; nil for none
	Started   time.Time                       // to the millisecond, as all three
	Renewed   time.Time
	Ends      time.Time // the first instant at which it is not active
}

// Lease asks for a session.
type Lease struct {
	Group, ID string
	TTL       time.Duration                   // MinTTL to MaxTTL, whole milliseconds count
	Data      map[string]types.AttributeValue // nil keeps what the session has
}

// check reports a lease that can't be had.
func (l Lease) check() error {
	switch {
	case l.Group == "" || l.ID == "":
		return fmt.Errorf("session %q of group %q: a name is empty", l.ID, l.Group)
	case l.TTL < MinTTL || l.TTL > MaxTTL:
		return fmt.Errorf("session %q of group %q: time to live %v: want %v to %v", l.ID, l.Group, l.TTL, MinTTL, MaxTTL)
	}
	return nil
}

// Put starts or renews a session, and returns it once it is durable; else an error
// of kind ErrThrottled, ErrUnavailable or ErrStale. Repeating a call is harmless: it
// renews.
func (s *Sessions) Put(ctx context.Context, l Lease, now time.Time) (Session, error) {
	if err := l.check(); err != nil {
		return Session{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, fence/2)
	defer cancel()
	begin, late := time.Now(), false
	s.request(l.Group, l.ID, now)
	var put Session
	err := dynamo.Persist(ctx, func(ctx context.Context) (err error) {
		sent := time.Now()
		at := now.Add(dynamo.Since(begin))
		put, err = s.attempt(ctx, l, at, late)
		if dynamo.Since(sent) <= prompt || err == nil && s.stayed(ctx, l, at, now.Add(dynamo.Since(begin))) {
			return err
		}
		if late = true; err == nil { // it was put, which is no contention
			err = fmt.Errorf("%w: it may have been put where it does not belong any more", shard.ErrUnavailable)
		}
		return err
	})
	if err != nil {
		return Session{}, fmt.Errorf("putting session %q of group %q: %w", l.ID, l.Group, err)
	}
	return put, nil
}

// PutTransact returns Put's writes as actions of a transaction, on condition that
// the session's items still are what they were read to be, and the session that
// they make. [once.Applier] calls it anew when that was not so.
func (s *Sessions) PutTransact(ctx context.Context, l Lease, now time.Time) ([]types.TransactWriteItem, Session, error) {
	err := l.check()
	if err != nil {
		return nil, Session{}, err
	}
	p, err := s.places(ctx, l.Group, l.ID, now)
	var actions []types.TransactWriteItem
	var put Session
	if err == nil {
		actions, put, err = s.plan(ctx, l, p, now)
	}
	if err != nil {
		return nil, Session{}, fmt.Errorf("putting session %q of group %q: %w", l.ID, l.Group, err)
	}
	return actions, put, nil
}

// End ends a session. Ending one that is not there, or has ended, is no error: a
// repeated call is harmless.
func (s *Sessions) End(ctx context.Context, group, id string, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, fence/2)
	defer cancel()
	begin := time.Now()
	s.request(group, id, now)
	err := dynamo.Persist(ctx, func(ctx context.Context) error {
		at := now.Add(dynamo.Since(begin))
		p, err := s.places(ctx, group, id, at)
		if err != nil {
			return err
		}
		if len(p.numbers) == 1 {
			return s.remove(ctx, p, at)
		}
		actions, err := s.removal(ctx, p, at)
		if err != nil {
			return err
		}
		return s.apply(ctx, actions, at)
	})
	if err != nil {
		return fmt.Errorf("ending session %q of group %q: %w", id, group, err)
	}
	return nil
}

// EndTransact returns End's writes as actions of a transaction, on condition that
// the session's items are as they were read; none for a session that is not there.
func (s *Sessions) EndTransact(ctx context.Context, group, id string, now time.Time) ([]types.TransactWriteItem, error) {
	p, err := s.places(ctx, group, id, now)
	var actions []types.TransactWriteItem
	if err == nil {
		actions, err = s.removal(ctx, p, now)
	}
	if err != nil {
		return nil, fmt.Errorf("ending session %q of group %q: %w", id, group, err)
	}
	return actions, nil
}

// request tells the watcher of a call.
func (s *Sessions) request(group, id string, now time.Time) {
	s.watch.Requested(shardmap.Request{Key: sessionsKey(group), ID: sessionID(id), At: now})
}

func sessionsKey(group string) string {
	return schema.BaseKey{Type: schema.Sessions, Name: group}.String()
}
