package sessions

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// kept is how long at least an item stays after a write. Attempts of earlier calls may be applied for
// shardmap.LateTime, and must find its renewed_at.
const kept = 2 * shardmap.LateTime

// muchNewer is a difference of times. A write whose time is after a call's by more began later, however the clocks of
// the two processes differ.
const muchNewer = 2 * shardmap.Clocks

// maxOutrun bounds how often an attempt writes again after it found another state than it expected.
const maxOutrun = 4

// call is one call that writes a session, in one or more attempts.
type call struct {
	*Store
	observe.Call
	group, id string
	lease     *Lease // nil to end the session
	clock     dynamo.Clock
	at        time.Time // the write's place in the order of writes, to the millisecond
}

func (s *Store) newCall(group, id string, l *Lease, now time.Time) *call {
	return &call{
		Store: s, Call: observe.Begin(s.observer), group: group, id: id, lease: l, clock: dynamo.StartClock(now), at: millis(now),
	}
}

// persist makes attempts until one is applied or a much newer write is found, and returns the stored session.
func (c *call) persist(ctx context.Context) (stored Session, err error) {
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		stored, err = c.attempt(ctx)
		return err
	})
	return stored, err
}

// attempt makes one attempt. It writes again at once if the session has ended, or if the stored write may be from before
// the call, by a clock that is ahead.
func (c *call) attempt(ctx context.Context) (Session, error) {
	held := Session{}
	for range maxOutrun {
		attempt := c.write(ctx, c.group, c.id, c.clock.Now()).Attempt
		in := dynamo.UpdateInput(c.nextUpdate(held, attempt.Shard))
		in.ReturnValues = types.ReturnValueAllNew
		out, err := c.client.UpdateItem(ctx, in, dynamo.NoRetry)
		err = c.Observe(ctx, attempt, err)
		if err == nil {
			return parse(c.group, c.id, out.Attributes)
		}
		there, failed := dynamo.ConditionFailed(err)
		if !failed {
			return Session{}, err
		}
		if held, err = parse(c.group, c.id, there); err != nil || c.isDone(held) {
			return held, err
		}
		c.at = held.after(c.at)
	}
	return Session{}, fmt.Errorf("%w: other calls started and ended the session meanwhile", shard.ErrContended)
}

// nextUpdate returns the write to attempt: it ends the session if there is no lease, renews it if it is active or was not
// read yet, and else starts it. held is the session as last read; n is the write shard of its row in the index.
func (c *call) nextUpdate(held Session, n int) *types.Update {
	switch {
	case c.lease == nil:
		return c.end(c.group, c.id, c.at)
	case held.Ends.IsZero() || held.active(c.at):
		return c.renew(*c.lease, n, c.at)
	}
	return c.start(*c.lease, n, c.at)
}

// isDone reports whether the stored session is as the call would leave it, or was written by a call that began later.
func (c *call) isDone(stored Session) bool {
	switch {
	case stored.Renewed.Sub(c.at) > muchNewer:
		return true
	case c.lease == nil:
		return stored.Ends.IsZero() && !stored.Renewed.Before(c.at)
	}
	return reflect.DeepEqual(stored, c.lease.applyTo(stored, c.at))
}

// after returns t, or the first millisecond after the session's last write if that is later.
func (s Session) after(t time.Time) time.Time {
	if s.Renewed.Before(millis(t)) {
		return millis(t)
	}
	return s.Renewed.Add(time.Millisecond)
}

// write returns a write of a session without its action. The write shard is that of the session's row
// in the index, by the newest shard count.
func (s *Store) write(ctx context.Context, group, id string, at time.Time) shardmap.Write {
	entry, count := s.shards.Newest(ctx, Key(group), at)
	n := shard.Calculated(id, count)
	attempt := observe.Sent(schema.Session, Key(group), entry, n, at)
	attempt.Items = observe.Hash(id)
	return shardmap.Write{Attempt: attempt, Probe: observe.IndexProbe(schema.SessionShard, schema.SessionShardKey(group, n))}
}

// inOrder is the condition that the last write of the session is older.
const inOrder = "(attribute_not_exists(renewed_at) OR renewed_at < :now)"

// renew returns the write that renews an active session, or creates one.
func (s *Store) renew(l Lease, n int, at time.Time) *types.Update {
	return s.update(l, n, at, inOrder+" AND (attribute_not_exists(ends_at) OR ends_at > :now)", "if_not_exists(started_at, :now)", "")
}

// start returns the write that starts a session that is new or has ended, without its old data.
func (s *Store) start(l Lease, n int, at time.Time) *types.Update {
	return s.update(l, n, at, inOrder+" AND NOT ends_at > :now", ":now", " REMOVE #data")
}

// update returns the write of a session, with its index row on write shard n. started is the value of
// started_at. withoutData is the action on the data if the lease has none.
func (s *Store) update(l Lease, n int, at time.Time, condition, started, withoutData string) *types.Update {
	ends := at.Add(l.TTL)
	u := &types.Update{
		TableName: &s.table, Key: itemKey(l.Group, l.ID), ConditionExpression: &condition,
		ExpressionAttributeValues: item{
			":now": dynamo.Number(at.UnixMilli()), ":ends": dynamo.Number(ends.UnixMilli()),
			":expires": dynamo.Number(shard.Expiry(at, max(l.TTL, kept))), ":shard": dynamo.String(schema.SessionShardKey(l.Group, n)),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
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

// end returns the write that ends a session. It leaves an item with renewed_at and the expiry, and no row in the index.
func (s *Store) end(group, id string, at time.Time) *types.Update {
	return &types.Update{
		TableName: &s.table, Key: itemKey(group, id), ConditionExpression: aws.String(inOrder),
		UpdateExpression:         aws.String("SET renewed_at = :now, expires_at = :expires REMOVE started_at, ends_at, session_shard, #data"),
		ExpressionAttributeNames: map[string]string{"#data": schema.SessionData},
		ExpressionAttributeValues: item{
			":now": dynamo.Number(at.UnixMilli()), ":expires": dynamo.Number(shard.Expiry(at, kept)),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// ifUnchanged returns the update with the condition that the session is still as held.
func ifUnchanged(u *types.Update, held Session) *types.Update {
	u.ConditionExpression = aws.String("started_at = :started AND renewed_at = :renewed AND ends_at = :ended")
	for name, at := range map[string]time.Time{":started": held.Started, ":renewed": held.Renewed, ":ended": held.Ends} {
		u.ExpressionAttributeValues[name] = dynamo.Number(at.UnixMilli())
	}
	return u
}
