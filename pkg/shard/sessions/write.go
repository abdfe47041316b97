package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// renew is the usual write: one update of the session where it belongs, on
// condition that it is active there. Where it can be in no other place, it may also
// be new.
func (s *Sessions) renew(ctx context.Context, l Lease, p places, at time.Time) (Session, error) {
	condition := "ends_at > :now AND attribute_not_exists(moved)"
	if len(p.numbers) == 1 {
		condition = "attribute_not_exists(pk) OR (" + condition + ")"
	}
	set := "SET ends_at = :ends, expires_at = :expires, renewed_at = :now, started_at = if_not_exists(started_at, :now), rev = if_not_exists(rev, :micro) + :one"
	ends := at.Add(l.TTL)
	values := dynamo.Item{
		":ends": dynamo.Number(ends.UnixMilli()), ":expires": dynamo.Number(ceilSecond(ends).Unix()),
		":now": dynamo.Number(at.UnixMilli()), ":micro": dynamo.Number(at.UnixMicro()), ":one": dynamo.Number(1),
	}
	var names map[string]string
	if l.Data != nil {
		set += ", #data = :data"
		names = map[string]string{"#data": schema.SessionData}
		values[":data"] = &types.AttributeValueMemberM{Value: l.Data}
	}
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: p.key(p.numbers[0]), UpdateExpression: &set, ConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValues: types.ReturnValueAllNew,
	}, dynamo.NoRetry)
	s.tell(ctx, p, at, err)
	if err != nil {
		return Session{}, err
	}
	return parseSession(l.Group, out.Attributes)
}

// attempt makes one try of a put. A careful one does not trust that the session is
// where it belongs, and nowhere else: it reads all places. The session is returned as
// far as it is known, with an error too.
func (s *Sessions) attempt(ctx context.Context, l Lease, at time.Time, careful bool) (Session, error) {
	p, err := s.places(ctx, l.Group, l.ID, at)
	if err != nil {
		return Session{}, err
	}
	if !careful {
		put, err := s.renew(ctx, l, p, at)
		if _, refused := dynamo.ConditionFailed(err); !refused {
			return put, err
		}
	}
	return s.replace(ctx, l, p, at)
}

// replace puts the session anew, with what there was of it.
func (s *Sessions) replace(ctx context.Context, l Lease, p places, at time.Time) (Session, error) {
	actions, put, err := s.plan(ctx, l, p, at)
	if err != nil {
		return Session{}, err
	}
	return put, s.apply(ctx, actions, at)
}

// plan reads all places, and returns the writes that put the session where it
// belongs. Where it was, and where a late write may yet begin it, they leave a trace.
func (s *Sessions) plan(ctx context.Context, l Lease, p places, at time.Time) ([]types.TransactWriteItem, Session, error) {
	found, held, err := s.look(ctx, p, at)
	if err != nil {
		return nil, Session{}, err
	}
	home := p.numbers[0]
	it := leased(l, held, nextRev(found[home], at), at)
	put, err := parseSession(l.Group, it)
	actions := []types.TransactWriteItem{s.put(p, home, it, found[home])}
	for _, n := range p.numbers[1:] {
		old := found[n]
		if isTrace(old) && active(old, at) || !p.fenced[n] && !active(old, at) {
			continue
		}
		actions = append(actions, s.put(p, n, trace(home, nextRev(old, at), at), old))
	}
	return actions, put, err
}

// newest returns the active session among what was found; the zero Session for none.
func newest(group string, found map[int]dynamo.Item, at time.Time) (held Session, err error) {
	for _, it := range found {
		if !active(it, at) || isTrace(it) {
			continue
		}
		one, err := parseSession(group, it)
		if err != nil {
			return held, err
		}
		if held.ID == "" || one.Renewed.After(held.Renewed) {
			held = one
		}
	}
	return held, nil
}

// leased is the item of a session that is put, as if its group had one write shard;
// held is what was there, zero for nothing.
func leased(l Lease, held Session, rev int64, at time.Time) dynamo.Item {
	ends := at.Add(l.TTL)
	if held.ID == "" {
		held.Started = at
	}
	if l.Data != nil {
		held.Data = l.Data
	}
	pk, sk := schema.SessionKey(l.Group, l.ID, 0)
	it := dynamo.Item{
		schema.PK:             &types.AttributeValueMemberS{Value: pk},
		schema.SK:             &types.AttributeValueMemberS{Value: sk},
		schema.SessionStarted: dynamo.Number(held.Started.UnixMilli()),
		schema.SessionRenewed: dynamo.Number(at.UnixMilli()),
		schema.SessionEnds:    dynamo.Number(ends.UnixMilli()),
		schema.SessionRev:     dynamo.Number(rev),
		schema.ExpiresAt:      dynamo.Number(ceilSecond(ends).Unix()),
	}
	if held.Data != nil {
		it[schema.SessionData] = &types.AttributeValueMemberM{Value: held.Data}
	}
	return it
}

// trace is what keeps late writes from a place for a while. It tells where the session
// is instead.
func trace(home int, rev int64, at time.Time) dynamo.Item {
	ends := at.Add(traceTime)
	return dynamo.Item{
		schema.SessionMoved: dynamo.Number(int64(home)),
		schema.SessionEnds:  dynamo.Number(ends.UnixMilli()),
		schema.SessionRev:   dynamo.Number(rev),
		schema.ExpiresAt:    dynamo.Number(ceilSecond(ends).Unix()),
	}
}

func nextRev(old dynamo.Item, at time.Time) int64 {
	if rev, err := dynamo.Integer(old, schema.SessionRev); err == nil && rev > 0 {
		return rev + 1
	}
	return at.UnixMicro()
}

// put is the write of an item to a place, on condition that this still is there;
// nil for nothing.
func (s *Sessions) put(p places, n int, it, there dynamo.Item) types.TransactWriteItem {
	for name, value := range p.key(n) {
		it[name] = value
	}
	put := &types.Put{TableName: &s.table, Item: it, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if there != nil {
		put.ConditionExpression, put.ExpressionAttributeValues = asRead(there)
	}
	return types.TransactWriteItem{Put: put}
}

// asRead is the condition that a session's item is as it was read. One without a rev
// is nobody's of ours, and gets one when it is taken over.
func asRead(there dynamo.Item) (condition *string, values dynamo.Item) {
	rev, ok := there[schema.SessionRev]
	if !ok {
		return aws.String("attribute_exists(pk) AND attribute_not_exists(rev)"), nil
	}
	return aws.String("rev = :rev"), dynamo.Item{":rev": rev}
}

// remove deletes what is in the only place where a session may be. A trace there tells
// that the session has moved.
func (s *Sessions) remove(ctx context.Context, p places, at time.Time) error {
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.table, Key: p.key(p.numbers[0]),
		ConditionExpression:       aws.String("attribute_not_exists(moved) OR ends_at <= :now"),
		ExpressionAttributeValues: dynamo.Item{":now": dynamo.Number(at.UnixMilli())},
	}, dynamo.NoRetry)
	s.tell(ctx, p, at, err)
	if _, refused := dynamo.ConditionFailed(err); refused {
		return fmt.Errorf("%w: it has moved", dynamo.ErrOutrun)
	}
	return err
}

// removal returns the writes that delete what is at a session's places, but for
// traces.
func (s *Sessions) removal(ctx context.Context, p places, at time.Time) (actions []types.TransactWriteItem, err error) {
	found, _, err := s.look(ctx, p, at)
	if err != nil {
		return nil, err
	}
	for n, it := range found {
		if isTrace(it) {
			continue
		}
		condition, values := asRead(it)
		actions = append(actions, types.TransactWriteItem{Delete: &types.Delete{
			TableName: &s.table, Key: p.key(n), ConditionExpression: condition, ExpressionAttributeValues: values,
		}})
	}
	return actions, nil
}

// apply makes writes of one session, as a transaction if there are several. When
// others were faster, its error is one that is worth another attempt.
func (s *Sessions) apply(ctx context.Context, actions []types.TransactWriteItem, at time.Time) error {
	loads, _ := s.told.Loads(ctx, actions, 0, at)
	err := s.write(ctx, actions)
	if len(loads) == 1 {
		watching.Tell(ctx, s.watch, loads[0].Attempt, err, dynamo.KeyRange)
	} else {
		s.told.Told(ctx, loads, err)
	}
	if _, refused := dynamo.ConditionFailed(err); refused || dynamo.Outrun(err, len(actions)) {
		return fmt.Errorf("%w: %w", dynamo.ErrOutrun, err)
	}
	return err
}

func (s *Sessions) write(ctx context.Context, actions []types.TransactWriteItem) (err error) {
	switch {
	case len(actions) == 0:
	case len(actions) > 1:
		_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, dynamo.NoRetry)
	case actions[0].Put != nil:
		put := actions[0].Put
		_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item,
			ConditionExpression: put.ConditionExpression, ExpressionAttributeValues: put.ExpressionAttributeValues,
		}, dynamo.NoRetry)
	default:
		del := actions[0].Delete
		_, err = s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: del.TableName, Key: del.Key,
			ConditionExpression: del.ConditionExpression, ExpressionAttributeValues: del.ExpressionAttributeValues,
		}, dynamo.NoRetry)
	}
	return err
}

// watching.Tell tells the watcher what became of a write where the session belongs.
func (s *Sessions) tell(ctx context.Context, p places, at time.Time, err error) {
	a := shardmap.Attempt{Key: sessionsKey(p.group), Request: sessionID(p.id), Entry: p.entry, Shard: p.numbers[0], At: at}
	watching.Tell(ctx, s.watch, a, err, dynamo.KeyRange)
}

// sessionID is the request's that writes a session.
func sessionID(id string) uint64 {
	_, sk := schema.SessionKey("", id, 0)
	return watching.Hash(sk)
}

func ceilSecond(t time.Time) time.Time {
	t = t.Round(0)
	if down := t.Truncate(time.Second); down.Before(t) {
		return down.Add(time.Second)
	}
	return t
}
