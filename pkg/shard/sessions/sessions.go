// Package sessions stores the sessions of groups: which ids are active, until when, and with which data.
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	kept := sessions.New(client, "hotshard-items", shards, sessions.Options{})
//	_, err := kept.Put(ctx, sessions.Lease{Group: "shop", ID: "u-17", TTL: 30 * time.Minute}, now)
//	n, err := kept.Active(ctx, "shop", now)
//	err = kept.End(ctx, "shop", "u-17", now)
//
// Putting an active session again renews it: the session ends TTL after that call, and keeps its start. It keeps its
// data if the lease has none. Putting a session that has ended, by its time or by End, starts a new one. A session is
// active while its end is after now, to the millisecond, no matter when DynamoDB's TTL deletes its item.
//
// # Where a session is
//
// A session is one item, whatever its group's shard count. So an id has one session at any time,
// and a change of the count moves no item. Only its row in the index by_group is sharded: the
// partition key there has a write shard calculated from the id, by the newest count. After a
// change of the count, a row moves to its new write shard with the session's next write.
//
// # Late attempts
//
// DynamoDB may apply an attempt that timed out after newer calls. So each write has the condition that its time is later
// than that of the last write, renewed_at. End leaves an item with its time, which TTL deletes. A late attempt of an
// acknowledged call changes nothing. If a call finds a write with a later time, because of another clock, it uses the
// next millisecond as its own. If the write is over two seconds later, the call has no effect, and no error.
//
// # What it costs
//
// The table has WCU, for items below 1 KB. A call in a transaction of package once costs twice as
// much, and a PutTransact 1 RCU more.
//
//	                                 write units: table  index
//	new                                               1      1
//	renewed                                           1      1
//	renewed, first after a change                     1      2
//	started again, before TTL removed it              2      1
//	ended                                             1      1
//	after a write by a clock that is ahead            2      1
//
// Get costs 1 RCU per 4 KB. Active and List read an index row for each session, at 0.5 RCU per 4 KB of rows. They also
// read the rows of ended sessions that TTL has not deleted yet. A row has some 100 bytes, and three times the bytes of
// the group's and the session's name. The least cost is 0.5 RCU for each write shard that the group ever had, and 1 RCU
// for the shard map. For MaxTTL after a change of the count, they read the rows twice, since rows may move.
//
// # Heat
//
// A session's item takes the writes of one session only. The group's partitions in the index get
// hot. A write that the index throttles can't go to another write shard. It waits, and looks up the
// newest shard count at each attempt. A [shard.Observer] receives each attempt.
package sessions

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client has the DynamoDB calls of a Store.
type Client interface {
	ReaderClient
	client.Updater
}

// Bounds of a session's time to live.
const (
	MinTTL = time.Second
	MaxTTL = 720 * time.Hour
)

// Session is one session of a group.
type Session struct {
	Group, ID string
	Data      map[string]types.AttributeValue // the caller's data; may be nil
	Started   time.Time                       // to the millisecond, as all three times
	Renewed   time.Time
	Ends      time.Time // the first instant at which the session is not active
}

// Lease requests a session.
type Lease struct {
	Group, ID string
	TTL       time.Duration                   // MinTTL to MaxTTL, truncated to whole milliseconds
	Data      map[string]types.AttributeValue // nil keeps the data of an active session
}

// applyTo returns the session into which the lease changes a stored session at a time.
func (l Lease) applyTo(stored Session, at time.Time) Session {
	session := Session{Group: l.Group, ID: l.ID, Data: stored.Data, Started: millis(stored.Started), Renewed: millis(at), Ends: millis(at.Add(l.TTL))}
	if l.Data != nil {
		session.Data = l.Data
	}
	return session
}

// Store puts and ends sessions, and reads them. It is safe for concurrent use.
type Store struct {
	*Reader
	client   Client
	observer shard.Observer
}

// Options are a Store's settings. The zero value is ready to use.
type Options struct {
	Observer shard.Observer // receives every write attempt; may be nil
}

// New returns a Store over the items table.
func New(db Client, table string, shards *shardmap.Map, o Options) *Store {
	return &Store{Reader: NewReader(db, table, shards), client: db, observer: o.Observer}
}

// Put starts or renews a session, and returns it once it is durable. Errors are of kind ErrThrottled or ErrUnavailable,
// or ErrMisused for a lease out of bounds. Repeating a call is harmless: it renews.
func (s *Store) Put(ctx context.Context, l Lease, now time.Time) (put Session, err error) {
	if err := s.check(l, now); err != nil {
		return Session{}, err
	}
	put, err = s.newCall(l.Group, l.ID, &l, now).persist(ctx)
	if err != nil {
		return Session{}, fmt.Errorf("putting session %q of group %q: %w", l.ID, l.Group, err)
	}
	if put.Ends.IsZero() { // a newer call has ended the session since
		return l.applyTo(Session{Started: now}, now), nil
	}
	return put, nil
}

// PutTransact returns Put's write for a transaction of package once, and the session after the write.
// The write's condition is that the session is unchanged since it was read. If the condition fails, package once
// calls PutTransact again. Pass the attempt's time as now.
func (s *Store) PutTransact(ctx context.Context, l Lease, now time.Time) (shardmap.Write, Session, error) {
	if err := s.check(l, now); err != nil {
		return shardmap.Write{}, Session{}, err
	}
	stored, err := s.readSession(ctx, l.Group, l.ID)
	if err != nil {
		return shardmap.Write{}, Session{}, fmt.Errorf("putting session %q of group %q: %w", l.ID, l.Group, err)
	}
	w, at := s.newWrite(ctx, l.Group, l.ID, now), stored.after(now)
	if !stored.active(at) {
		w.Action.Update = s.start(l, w.Attempt.Shard, at)
		return w, l.applyTo(Session{Started: at}, at), nil
	}
	w.Action.Update = ifUnchanged(s.renew(l, w.Attempt.Shard, at), stored)
	return w, l.applyTo(stored, at), nil
}

// check returns ErrMisused if the store or the lease is invalid, or now is zero.
func (s *Store) check(l Lease, now time.Time) error {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(s.client, s.shards, l.Group, l.ID)); err != nil {
		return err
	}
	if l.TTL < MinTTL || l.TTL > MaxTTL {
		return fmt.Errorf("%w: session %q of group %q has a TTL of %v: want %v to %v", shard.ErrMisused, l.ID, l.Group, l.TTL, MinTTL, MaxTTL)
	}
	return nil
}

// End ends a session. Ending a session that does not exist or has ended is no error, so repeating a call is harmless.
func (s *Store) End(ctx context.Context, group, id string, now time.Time) error {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(s.client, s.shards, group, id)); err != nil {
		return err
	}
	if _, err := s.newCall(group, id, nil, now).persist(ctx); err != nil {
		return fmt.Errorf("ending session %q of group %q: %w", id, group, err)
	}
	return nil
}

// EndTransact returns End's write for a transaction of package once. It reads no session. The write's condition is that
// the session's last write is older than now. If the condition fails, package once calls EndTransact again, with a later
// now.
func (s *Store) EndTransact(ctx context.Context, group, id string, now time.Time) shardmap.Write {
	w := s.newWrite(ctx, group, id, now)
	w.Action.Update = s.end(group, id, now)
	return w
}

// Key returns a group's key in the shard map.
func Key(group string) string {
	return schema.BaseKey{Type: schema.Session, Name: group}.String()
}
