package once

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client is what an Applier calls of DynamoDB.
type Client interface {
	dynamo.Putter
	dynamo.BatchGetter
	dynamo.Transactor
}

// Applier applies calls that carry a key of the caller's once, however often they
// are sent: the call's writes and a marker item are one transaction, so that
// there is never one without the other.
//
// A marker is one item:
//
//	pk         S  I#<key>
//	sk         S  -
//	digest     B  tells whether a later call with the key is the same call
//	answer     B  what the call answered
//	v          N  1
//	expires_at N  Unix seconds; an expired marker counts as absent
type Applier struct {
	client Client
	table  string
	told   *watching.Transactions
}

// Options are how an Applier works. The zero value is good.
type Options struct {
	// Watch is told how the keys of the calls fare, and by which counts of shards their writes
	// were sent; nil for nobody.
	Watch shardmap.Watcher
}

// New returns an Applier that keeps its markers in this table. Shards may be nil if nobody
// watches.
func New(client Client, table string, shards *shardmap.Map, o Options) *Applier {
	return &Applier{client: client, table: table, told: watching.New(client, table, shards, o.Watch)}
}

// Call is a call to apply once. Its writes are 99 actions at most.
type Call struct {
	Key    string // the caller's, the same whenever the call is sent again
	Digest []byte // of what the call asks for, such as its SHA-256: tells it from another call with the key
	Answer []byte // what a call that is sent again gets; may be nil, as Digest may
}

// KeyLifetime is how long a key is remembered.
const KeyLifetime = 24 * time.Hour

// ErrOtherCall means that the key was used for a call with another digest.
var ErrOtherCall = errors.New("the key was used for another call")

// Do makes the writes that actions returns, unless the key's call has been
// applied before: then it returns the answer of that time. Actions is called
// anew for each attempt, since another write shard may do better, and since the
// condition of a write may fail that was worked out from what was read: then the
// next attempt goes by what is there by then. An error of actions that is not worth
// another attempt is the call's only if it was not applied before: what it did then may
// be why it can't be done again. Each attempt is a transaction of its own: the marker
// alone tells them apart.
func (o *Applier) Do(ctx context.Context, call Call, now time.Time,
	actions func(context.Context) ([]types.TransactWriteItem, error),
) (before []byte, err error) {
	return o.Decide(ctx, call, now, func(ctx context.Context) ([]types.TransactWriteItem, []byte, error) {
		writes, err := actions(ctx)
		return writes, call.Answer, err
	})
}

// Decide is Do for a call whose answer depends on what is read for its writes:
// decide returns both, and the answer takes the place of the call's.
func (o *Applier) Decide(ctx context.Context, call Call, now time.Time,
	decide func(context.Context) ([]types.TransactWriteItem, []byte, error),
) (before []byte, err error) {
	start, try := dynamo.StartBy(ctx), &onceTry{Applier: o, call: call, id: rand.Uint64(), now: now, clock: dynamo.StartClock(now), decide: decide}
	err = dynamo.Persist(ctx, func(ctx context.Context) (err error) {
		for i := range maxMet {
			before, err = try.do(ctx)
			if met := dynamo.IsConflict(err) && !dynamo.IsThrottle(err); !met || i+1 == maxMet || time.Now().After(start) {
				break
			}
			if !dynamo.Pause(ctx, rand.N(maxMeetPause)) {
				break
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("applying the call with key %q: %w", call.Key, err)
	}
	return before, nil
}

// Within an attempt, a call that met another is tried so often, with pauses up to so
// long: one of those that meet has gone through, and the next may. One that was
// throttled as well waits longer, as all do that find no capacity.
const (
	maxMet       = 8
	maxMeetPause = 20 * time.Millisecond
)

// onceTry makes the tries of one call.
type onceTry struct {
	*Applier
	call   Call
	id     uint64 // tells the call from others
	now    time.Time
	clock  dynamo.Clock
	decide func(context.Context) ([]types.TransactWriteItem, []byte, error)
	asked  bool // the watcher knows of the call
}

// do makes one try. It returns the answer of a call that was applied before.
func (t *onceTry) do(ctx context.Context) (before []byte, err error) {
	writes, answer, err := t.decide(ctx)
	if err != nil {
		return t.impossible(ctx, t.call, t.now, err)
	}
	loads, requests := t.told.Loads(ctx, writes, t.id, t.clock.Now())
	if !t.asked {
		t.asked = true
		requests.Tell(t.told.Watch)
	}
	t.call.Answer = answer
	_, err = t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: append(writes, t.marker(t.call, t.now)),
	}, dynamo.NoRetry)
	t.told.Told(ctx, loads, err)
	marker, refused := dynamo.ActionFailed(err, len(writes))
	if refused && marker != nil {
		before, err = answerOf(marker, t.call)
	} else if dynamo.Outrun(err, len(writes)) {
		err = fmt.Errorf("%w: %w", dynamo.ErrOutrun, err)
	}
	return before, err
}

// impossible returns the answer of a call that was applied before, or else why it
// can't be applied now.
func (o *Applier) impossible(ctx context.Context, call Call, now time.Time, why error) ([]byte, error) {
	if dynamo.WorthRetrying(ctx, why) {
		return nil, why
	}
	before, err := o.Before(ctx, call, now)
	if before == nil && err == nil {
		return nil, why
	}
	return before, err
}

// Before returns what a call answered when it was applied before; nil if it was not.
// Another call with its key is ErrOtherCall. It is one read unit.
func (o *Applier) Before(ctx context.Context, call Call, now time.Time) (answer []byte, err error) {
	items, err := dynamo.BatchGet(ctx, o.client, o.table, []dynamo.Item{markerKey(call)}, true)
	if err != nil {
		return nil, fmt.Errorf("looking whether the call with key %q was applied before: %w", call.Key, err)
	}
	if len(items) == 0 || dynamo.Expired(items[0], now) {
		return nil, nil
	}
	return answerOf(items[0], call)
}

func markerKey(call Call) dynamo.Item { return dynamo.Key("I#"+call.Key, schema.SoleSK) }

func (o *Applier) marker(call Call, now time.Time) types.TransactWriteItem {
	it := markerKey(call)
	it["digest"] = binary(call.Digest)
	it["answer"] = binary(call.Answer)
	it[schema.Version] = dynamo.Number(1)
	it[schema.ExpiresAt] = dynamo.Number(now.Add(KeyLifetime).Unix())
	return types.TransactWriteItem{Put: &types.Put{
		TableName:                           &o.table,
		Item:                                it,
		ConditionExpression:                 aws.String("attribute_not_exists(pk) OR expires_at <= :now"),
		ExpressionAttributeValues:           dynamo.Item{":now": dynamo.Number(now.Unix())},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// binary is an attribute of bytes: of nil, which DynamoDB refuses, of none.
func binary(b []byte) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: append([]byte{}, b...)}
}

func answerOf(marker dynamo.Item, call Call) ([]byte, error) {
	was, _ := marker["digest"].(*types.AttributeValueMemberB)
	answer, _ := marker["answer"].(*types.AttributeValueMemberB)
	if was == nil || answer == nil {
		return nil, fmt.Errorf("marker %q lacks its digest or answer", call.Key)
	}
	if !bytes.Equal(was.Value, call.Digest) {
		return nil, ErrOtherCall
	}
	return answer.Value, nil
}
