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

// minItemLife is the least time for which an item stays after a write. DynamoDB may apply attempts of earlier calls for
// shardmap.LateTime, and their conditions need the item's renewed_at.
const minItemLife = 2 * shardmap.LateTime

// maxClockDifference bounds the difference of two processes' clocks. A write whose time is later than a call's by more
// began after the call.
const maxClockDifference = 2 * shardmap.Clocks

// maxOutrun bounds the writes of an attempt: each but the first follows a write whose condition failed.
const maxOutrun = 4

// call is one call that writes a session, in one or more attempts.
type call struct {
	*Store
	observe.Call
	group, id string
	lease     *Lease // nil to end the session
	clock     dynamo.Clock
	at        time.Time // the write's time, to the millisecond; the write with the latest time wins
}

// newCall returns a call that puts a lease, or ends the session if the lease is nil.
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

// attempt makes one attempt, and returns the stored session. If a condition fails, it writes again at once, unless the
// stored session needs no further write.
func (c *call) attempt(ctx context.Context) (Session, error) {
	stored := Session{}
	for range maxOutrun {
		attempt := c.newWrite(ctx, c.group, c.id, c.clock.Now()).Attempt
		in := dynamo.UpdateInput(c.nextUpdate(stored, attempt.Shard))
		in.ReturnValues = types.ReturnValueAllNew
		out, err := c.client.UpdateItem(ctx, in, dynamo.NoRetry)
		err = c.Observe(ctx, attempt, err)
		if err == nil {
			return parseSession(c.group, c.id, out.Attributes)
		}
		it, conditionFailed := dynamo.ConditionFailed(err)
		if !conditionFailed {
			return Session{}, err
		}
		if stored, err = parseSession(c.group, c.id, it); err != nil || c.isDone(stored) {
			return stored, err
		}
		c.at = stored.after(c.at)
	}
	return Session{}, fmt.Errorf("%w: other calls started and ended the session %d times during this call; try again", shard.ErrContended, maxOutrun)
}

// nextUpdate returns the update to attempt, by the session as last read; stored is zero before the first read. The
// update ends the session if the call has no lease. It starts the session if its time has run out, and otherwise renews
// or creates it. The row in the index is on write shard n.
func (c *call) nextUpdate(stored Session, n int) *types.Update {
	switch {
	case c.lease == nil:
		return c.end(c.group, c.id, c.at)
	case stored.Ends.IsZero() || stored.active(c.at):
		return c.renew(*c.lease, n, c.at)
	}
	return c.start(*c.lease, n, c.at)
}

// isDone reports whether the call needs no further write: the stored session is as the call would leave it, or a call
// that began later wrote it.
func (c *call) isDone(stored Session) bool {
	switch {
	case stored.Renewed.Sub(c.at) > maxClockDifference:
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

// newWrite returns a write of a session without its action. The attempt's write shard is that of the session's row
// in the index, by the newest shard count.
func (s *Store) newWrite(ctx context.Context, group, id string, at time.Time) shardmap.Write {
	entry, count := s.shards.Newest(ctx, Key(group), at)
	n := shard.Calculated(id, count)
	attempt := observe.NewAttempt(schema.Session, Key(group), entry, n, at)
	attempt.Items = observe.Hash(id)
	return shardmap.Write{Attempt: attempt, Probe: observe.IndexProbe(schema.SessionShard, schema.SessionShardKey(group, n))}
}

// isNewer is the condition that the session's last write is older than this one.
const isNewer = "(attribute_not_exists(renewed_at) OR renewed_at < :now)"

// renew returns the update that renews an active session, or creates one.
func (s *Store) renew(l Lease, n int, at time.Time) *types.Update {
	return s.update(l, n, at, isNewer+" AND (attribute_not_exists(ends_at) OR ends_at > :now)", "if_not_exists(started_at, :now)")
}

// start returns the update that starts a session that is new or has ended. It removes old data.
func (s *Store) start(l Lease, n int, at time.Time) *types.Update {
	u := s.update(l, n, at, isNewer+" AND NOT ends_at > :now", ":now")
	if l.Data == nil {
		*u.UpdateExpression += " REMOVE #data"
		u.ExpressionAttributeNames = map[string]string{"#data": schema.SessionData}
	}
	return u
}

// update returns the update that puts a lease, with the session's index row on write shard n. startedAt is the
// expression for started_at.
func (s *Store) update(l Lease, n int, at time.Time, condition, startedAt string) *types.Update {
	ends := at.Add(l.TTL)
	u := &types.Update{
		TableName: &s.table, Key: itemKey(l.Group, l.ID), ConditionExpression: &condition,
		ExpressionAttributeValues: item{
			":now": dynamo.Number(at.UnixMilli()), ":ends": dynamo.Number(ends.UnixMilli()),
			":expires": dynamo.Number(shard.Expiry(at, max(l.TTL, minItemLife))), ":shard": dynamo.String(schema.SessionShardKey(l.Group, n)),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	u.UpdateExpression = aws.String("SET ends_at = :ends, expires_at = :expires, renewed_at = :now, session_shard = :shard, started_at = " + startedAt)
	if l.Data != nil {
		*u.UpdateExpression += ", #data = :data"
		u.ExpressionAttributeNames = map[string]string{"#data": schema.SessionData}
		u.ExpressionAttributeValues[":data"] = &types.AttributeValueMemberM{Value: l.Data}
	}
	return u
}

// end returns the update that ends a session. It leaves an item with renewed_at and the expiry, and no row in the index.
func (s *Store) end(group, id string, at time.Time) *types.Update {
	return &types.Update{
		TableName: &s.table, Key: itemKey(group, id), ConditionExpression: aws.String(isNewer),
		UpdateExpression:         aws.String("SET renewed_at = :now, expires_at = :expires REMOVE started_at, ends_at, session_shard, #data"),
		ExpressionAttributeNames: map[string]string{"#data": schema.SessionData},
		ExpressionAttributeValues: item{
			":now": dynamo.Number(at.UnixMilli()), ":expires": dynamo.Number(shard.Expiry(at, minItemLife)),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// ifUnchanged returns the update with the condition that the session is still as stored.
func ifUnchanged(u *types.Update, stored Session) *types.Update {
	u.ConditionExpression = aws.String("started_at = :started AND renewed_at = :renewed AND ends_at = :ended")
	for name, at := range map[string]time.Time{":started": stored.Started, ":renewed": stored.Renewed, ":ended": stored.Ends} {
		u.ExpressionAttributeValues[name] = dynamo.Number(at.UnixMilli())
	}
	return u
}
