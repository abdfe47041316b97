// Package sessions keeps the sessions of groups: who is active, until when, with which
// data.
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	kept := sessions.New(client, "hotshard-items", shards, sessions.Options{})
//	_, err := kept.Put(ctx, sessions.Lease{Group: "shop", ID: "u-17", TTL: 30 * time.Minute}, now)
//	n, err := kept.Active(ctx, "shop", now)
//	err = kept.End(ctx, "shop", "u-17", now)
//
// A session that is put again while it is active is renewed: it ends TTL after that, has
// begun when it had, and keeps its data unless it is given other. One that has ended, by
// its time or by End, begins anew. It is active as long as its end is later than now, to
// the millisecond: that DynamoDB's TTL removes an item hours later makes no difference.
//
// # Where a session is
//
// A session is one item, whatever its group's shard count: so an id has one session at any
// time, and a change of the count moves nobody. Only its row in the index by_group is
// sharded: the partition key there has a write shard calculated from the id, with the
// newest count. A row goes to another write shard with the session's first write after a
// change of the count.
//
// # What it costs
//
// In units, for items below 1 KB. A call in a transaction of package once costs twice the
// write units, and its Put a read unit.
//
//	                                 write units: table  index
//	new                                               1      1
//	renewed                                           1      1
//	renewed, first after a change                     1      2
//	begun anew, before TTL removed it                 2      1
//	ended                                             1      1
//
// Get costs a read unit for 4 KB. Active and IDs read a row of the index for each session,
// and for each that has ended and that TTL has not removed: half a unit for 4 KB of rows,
// which have some 100 bytes and the names of group and session three times over; at least
// half a unit for each write shard that the group ever had; and a unit for the shard map.
// For MaxTTL after a change of the count they read the rows twice, since these may move.
//
// # Heat
//
// A session's own partition in the table takes what one session takes. What gets hot is the
// group's partition in the index. A write that the index refuses can't go elsewhere; it
// waits, and asks for the newest shard count at each attempt. The [shardmap.Watcher] is told.
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

// Client is what a Store calls of DynamoDB.
type Client interface {
	ReaderClient
	dynamo.Updater
	dynamo.Deleter
}

// Bounds of a session's time to live.
const (
	MinTTL = time.Second
	MaxTTL = 720 * time.Hour
)

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

// after is the session that a lease makes of the one that is held.
func (l Lease) after(held Session, at time.Time) Session {
	one := Session{Group: l.Group, ID: l.ID, Data: held.Data, Started: millis(held.Started), Renewed: millis(at), Ends: millis(at.Add(l.TTL))}
	if l.Data != nil {
		one.Data = l.Data
	}
	return one
}

// check reports a lease that can't be had.
func (l Lease) check() error {
	switch {
	case l.Group == "" || l.ID == "":
		return fmt.Errorf("%w: session %q of group %q: a name is empty", shard.ErrMisused, l.ID, l.Group)
	case l.TTL < MinTTL || l.TTL > MaxTTL:
		return fmt.Errorf("%w: session %q of group %q: time to live %v: want %v to %v", shard.ErrMisused, l.ID, l.Group, l.TTL, MinTTL, MaxTTL)
	}
	return nil
}

// Store puts and ends sessions, and reads them. It is safe for concurrent use.
type Store struct {
	*Reader
	client Client
	watch  shardmap.Watcher
}

// Options are how a Store works. The zero value is good.
type Options struct {
	Watch shardmap.Watcher // is told how the groups fare; nil for nobody
}

// New returns a Store over the items table.
func New(client Client, table string, shards *shardmap.Map, o Options) *Store {
	return &Store{Reader: NewReader(client, table, shards), client: client, watch: watching.Or(o.Watch)}
}

// Put starts or renews a session, and returns it once it is durable; else an error of kind
// ErrThrottled or ErrUnavailable, or ErrMisused for a lease out of bounds. Repeating a call is harmless: it renews.
func (s *Store) Put(ctx context.Context, l Lease, now time.Time) (put Session, err error) {
	if err := l.check(); err != nil {
		return Session{}, err
	}
	call := s.call(l.Group, l.ID, now)
	err = dynamo.Persist(ctx, func(ctx context.Context) (err error) {
		put, err = call.put(ctx, l)
		return err
	})
	if err != nil {
		return Session{}, fmt.Errorf("putting session %q of group %q: %w", l.ID, l.Group, err)
	}
	return put, nil
}

// PutTransact returns Put's write as an action of a transaction, on condition that the
// session still is what it was read to be, and the session that it makes. Package once calls
// it anew when that was not so. Now is the attempt's own time.
func (s *Store) PutTransact(ctx context.Context, l Lease, now time.Time) (types.TransactWriteItem, Session, error) {
	if err := l.check(); err != nil {
		return types.TransactWriteItem{}, Session{}, err
	}
	held, err := s.read(ctx, l.Group, l.ID)
	if err != nil {
		return types.TransactWriteItem{}, Session{}, fmt.Errorf("putting session %q of group %q: %w", l.ID, l.Group, err)
	}
	n, _ := s.place(ctx, l.Group, l.ID, now)
	if !held.active(now) {
		return types.TransactWriteItem{Update: s.start(l, n, now)}, l.after(Session{Started: now}, now), nil
	}
	return types.TransactWriteItem{Update: unchanged(s.renew(l, n, now), held)}, l.after(held, now), nil
}

// End ends a session. Ending one that is not there, or has ended, is no error: a repeated
// call is harmless.
func (s *Store) End(ctx context.Context, group, id string, now time.Time) error {
	if err := dynamo.Persist(ctx, s.call(group, id, now).end); err != nil {
		return fmt.Errorf("ending session %q of group %q: %w", id, group, err)
	}
	return nil
}

// EndTransact returns End's write as an action of a transaction. It is the same at any time, and
// reads nothing for it.
func (s *Store) EndTransact(group, id string) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: s.deletion(group, id)}
}

// Key is a group's key in the shard map.
func Key(group string) string {
	return schema.BaseKey{Type: schema.Sessions, Name: group}.String()
}
