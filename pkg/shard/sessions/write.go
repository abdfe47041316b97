package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// call is one call that writes a session, in one or more attempts.
type call struct {
	*Store
	observe.Call
	group string
	id    string
	clock dynamo.Clock
}

func (s *Store) newCall(group, id string, now time.Time) *call {
	return &call{Store: s, Call: observe.Begin(s.observer), group: group, id: id, clock: dynamo.StartClock(now)}
}

// putSession makes one attempt. It first tries to renew or create the session. If that fails, the session has
// ended, and starts again.
func (c *call) putSession(ctx context.Context, l Lease) (Session, error) {
	at := c.clock.Now()
	attempt := c.write(ctx, l.Group, l.ID, at).Attempt
	for _, u := range []*types.Update{c.renew(l, attempt.Shard, at), c.start(l, attempt.Shard, at)} {
		in := dynamo.UpdateInput(u)
		in.ReturnValues = types.ReturnValueAllNew
		out, err := c.client.UpdateItem(ctx, in, dynamo.NoRetry)
		c.Observe(ctx, attempt, err)
		if err == nil {
			return parse(l.Group, l.ID, out.Attributes)
		}
		if _, failed := dynamo.ConditionFailed(err); !failed {
			return Session{}, err
		}
	}
	return Session{}, fmt.Errorf("%w: other calls started and ended the session meanwhile", shard.ErrContended)
}

// endSession makes one attempt.
func (c *call) endSession(ctx context.Context) error {
	w := c.EndTransact(ctx, c.group, c.id, c.clock.Now())
	_, err := c.client.DeleteItem(ctx, dynamo.DeleteInput(w.Action.Delete), dynamo.NoRetry)
	c.Observe(ctx, w.Attempt, err)
	return err
}

// write returns a write of a session without its action. The write shard is that of the session's row
// in the index, by the newest shard count.
func (s *Store) write(ctx context.Context, group, id string, at time.Time) shardmap.Write {
	entry, count := s.shards.Newest(ctx, Key(group), at)
	n := shard.Calculated(id, count)
	attempt := observe.Sent(kind.Session, Key(group), entry, n, at)
	attempt.Items = observe.Hash(id)
	return shardmap.Write{Attempt: attempt, Probe: observe.IndexProbe(schema.SessionShard, schema.SessionShardKey(group, n))}
}

// renew returns the write that renews an active session, or creates one.
func (s *Store) renew(l Lease, n int, at time.Time) *types.Update {
	return s.update(l, n, at, "attribute_not_exists(pk) OR ends_at > :now", "if_not_exists(started_at, :now)", "")
}

// start returns the write that starts a session that is new or has ended, without its old data.
func (s *Store) start(l Lease, n int, at time.Time) *types.Update {
	return s.update(l, n, at, "NOT ends_at > :now", ":now", " REMOVE #data")
}

// update returns the write of a session, with its index row on write shard n. started is the value of
// started_at. withoutData is the action on the data if the lease has none.
func (s *Store) update(l Lease, n int, at time.Time, condition, started, withoutData string) *types.Update {
	ends := at.Add(l.TTL)
	u := &types.Update{
		TableName: &s.table, Key: itemKey(l.Group, l.ID), ConditionExpression: &condition,
		ExpressionAttributeValues: item{
			":now": dynamo.Number(at.UnixMilli()), ":ends": dynamo.Number(ends.UnixMilli()), ":expires": dynamo.Number(shard.Expiry(at, l.TTL)),
			":shard": dynamo.String(schema.SessionShardKey(l.Group, n)),
		},
	}
	dataAction := withoutData
	if l.Data != nil {
		u.ExpressionAttributeValues[":data"] = &types.AttributeValueMemberM{Value: l.Data}
		dataAction = ", #data = :data"
	}
	if dataAction != "" {
		u.ExpressionAttributeNames = map[string]string{"#data": schema.SessionData}
	}
	u.UpdateExpression = aws.String("SET ends_at = :ends, expires_at = :expires, renewed_at = :now, session_shard = :shard, started_at = " + started + dataAction)
	return u
}

// deletion returns the write that ends a session.
func (s *Store) deletion(group, id string) *types.Delete {
	return &types.Delete{TableName: &s.table, Key: itemKey(group, id)}
}

// ifUnchanged returns the update with the condition that the session is still as held.
func ifUnchanged(u *types.Update, held Session) *types.Update {
	u.ConditionExpression = aws.String("started_at = :started AND renewed_at = :renewed AND ends_at = :ended")
	for name, at := range map[string]time.Time{":started": held.Started, ":renewed": held.Renewed, ":ended": held.Ends} {
		u.ExpressionAttributeValues[name] = dynamo.Number(at.UnixMilli())
	}
	return u
}
