package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// call is one call that writes a session, in as many attempts as it takes.
type call struct {
	*Store
	request shardmap.Request
	group   string
	id      string
	clock   dynamo.Clock
}

// call begins one, and tells the watcher.
func (s *Store) call(group, id string, now time.Time) *call {
	c := &call{Store: s, group: group, id: id, clock: dynamo.StartClock(now)}
	c.request = shardmap.Request{Key: Key(group), ID: watching.Hash(id), At: now}
	s.watch.Requested(c.request)
	return c
}

// put makes one attempt: most sessions are active or new. One that has ended and is still
// there begins anew.
func (c *call) put(ctx context.Context, l Lease) (Session, error) {
	at := c.clock.Now()
	n, entry := c.place(ctx, l.Group, l.ID, at)
	attempt := shardmap.Attempt{Key: c.request.Key, Request: c.request.ID, Entry: entry, Shard: n, At: at}
	for _, u := range []*types.Update{c.renew(l, n, at), c.start(l, n, at)} {
		in := dynamo.UpdateInput(u)
		in.ReturnValues = types.ReturnValueAllNew
		out, err := c.client.UpdateItem(ctx, in, dynamo.NoRetry)
		watching.Tell(ctx, c.watch, attempt, err, dynamo.IndexKeyRange)
		if err == nil {
			return parse(l.Group, l.ID, out.Attributes)
		}
		if _, refused := dynamo.ConditionFailed(err); !refused {
			return Session{}, err
		}
	}
	return Session{}, fmt.Errorf("%w: it began or ended meanwhile", shard.ErrContended)
}

// end makes one attempt.
func (c *call) end(ctx context.Context) error {
	at := c.clock.Now()
	n, entry := c.place(ctx, c.group, c.id, at)
	_, err := c.client.DeleteItem(ctx, dynamo.DeleteInput(c.deletion(c.group, c.id)), dynamo.NoRetry)
	watching.Tell(ctx, c.watch, shardmap.Attempt{Key: c.request.Key, Request: c.request.ID, Entry: entry, Shard: n, At: at}, err, dynamo.IndexKeyRange)
	return err
}

// place is the write shard in the index to which a session belongs by the newest count,
// and what the shard map says of the group.
func (s *Store) place(ctx context.Context, group, id string, at time.Time) (n int, entry shardmap.Entry) {
	entry, count := s.shards.Newest(ctx, Key(group), at)
	return shard.Calculated(id, count), entry
}

// renew is the write of a session that is active, or new.
func (s *Store) renew(l Lease, n int, at time.Time) *types.Update {
	return s.update(l, n, at, "attribute_not_exists(pk) OR ends_at > :now", "if_not_exists(started_at, :now)", "")
}

// start is the write of a session that is new, or has ended: of that it keeps nothing.
func (s *Store) start(l Lease, n int, at time.Time) *types.Update {
	return s.update(l, n, at, "NOT ends_at > :now", ":now", " REMOVE #data")
}

// update is the write of a session whose row in the index goes to write shard n. Otherwise
// is what it does about the data when the lease has none.
func (s *Store) update(l Lease, n int, at time.Time, condition, started, otherwise string) *types.Update {
	ends := at.Add(l.TTL)
	u := &types.Update{
		TableName: &s.table, Key: itemKey(l.Group, l.ID), ConditionExpression: &condition,
		ExpressionAttributeValues: item{
			":now": dynamo.Number(at.UnixMilli()), ":ends": dynamo.Number(ends.UnixMilli()), ":expires": dynamo.Number(shard.Expiry(at, l.TTL)),
			":shard": dynamo.String(schema.SessionShardKey(l.Group, n)),
		},
	}
	if l.Data != nil {
		u.ExpressionAttributeValues[":data"] = &types.AttributeValueMemberM{Value: l.Data}
		otherwise = ", #data = :data"
	}
	if otherwise != "" {
		u.ExpressionAttributeNames = map[string]string{"#data": schema.SessionData}
	}
	u.UpdateExpression = aws.String("SET ends_at = :ends, expires_at = :expires, renewed_at = :now, session_shard = :shard, started_at = " + started + otherwise)
	return u
}

// deletion is the write that ends a session.
func (s *Store) deletion(group, id string) *types.Delete {
	return &types.Delete{TableName: &s.table, Key: itemKey(group, id)}
}

// unchanged makes a write conditional on the session that was read.
func unchanged(u *types.Update, held Session) *types.Update {
	u.ConditionExpression = aws.String("started_at = :started AND renewed_at = :renewed AND ends_at = :ended")
	for name, at := range map[string]time.Time{":started": held.Started, ":renewed": held.Renewed, ":ended": held.Ends} {
		u.ExpressionAttributeValues[name] = dynamo.Number(at.UnixMilli())
	}
	return u
}
