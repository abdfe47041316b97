package once

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client has the DynamoDB calls of an Applier.
type Client interface {
	client.Putter
	client.BatchGetter
	client.Transactor
}

// Applier applies each call once per key, however often it is sent. The call's writes and a
// marker item are one transaction, so either all of them exist or none.
//
// A marker is one item. The names of its keys and of the expiry are in Options:
//
//	pk         S  I#<key>
//	sk         S  -
//	digest     B  distinguishes calls that use the same key
//	answer     B  the call's answer
//	v          N  1
//	expires_at N  Unix seconds; an expired marker counts as absent
type Applier struct {
	client  Client
	table   string
	options Options
	probes  *observe.Probes
}

// Options are an Applier's settings. The zero value is ready to use.
type Options struct {
	Observer shard.Observer // receives every attempt of each write; may be nil
	// PartitionKey and SortKey name the key attributes of the markers' table, of type S. SortKey is "" for a table
	// without one. If both are "", they are pk and sk.
	PartitionKey, SortKey string
	// TTL names the table's TTL attribute; default expires_at.
	TTL string
	// Lifetime is how long a key's marker is kept, 1 s or more; default KeyLifetime. A later repeat is applied again.
	Lifetime time.Duration
}

// New returns an Applier that keeps its markers in this table.
func New(db Client, table string, o Options) *Applier {
	if o.PartitionKey == "" && o.SortKey == "" {
		o.PartitionKey, o.SortKey = schema.PK, schema.SK
	}
	o.TTL, o.Lifetime = cmp.Or(o.TTL, schema.ExpiresAt), cmp.Or(o.Lifetime, KeyLifetime)
	return &Applier{client: db, table: table, options: o, probes: observe.NewProbes(db, o.Observer)}
}

// check returns ErrMisused if PartitionKey is missing, two attributes of a marker have the same name, or Lifetime is
// below 1 s.
func (o Options) check() error {
	names := slices.Compact(slices.Sorted(slices.Values([]string{o.PartitionKey, o.SortKey, o.TTL, "digest", "answer", schema.Version})))
	if o.PartitionKey == "" || len(names) < 6 || o.Lifetime < time.Second {
		return fmt.Errorf("%w: once.Options: PartitionKey %q must not be empty; it, SortKey %q and TTL %q must differ from each other and from digest, answer and v; Lifetime %v must be 1s or more",
			shard.ErrMisused, o.PartitionKey, o.SortKey, o.TTL, o.Lifetime)
	}
	return nil
}

// Call is a call to apply once. It may make up to 99 writes.
type Call struct {
	Key    string // the caller's key, the same for every repeat of the call; 1 to 2,046 bytes of UTF-8
	Digest []byte // hash of the request, such as its SHA-256; may be nil
	Answer []byte // what Do and Before return for a repeat of the call; a nil Answer as an empty slice
}

// maxKey bounds a key's bytes: a partition key has at most 2,048, and the marker's prefix takes two.
const maxKey = 2046

// check returns ErrMisused if the key is invalid or now is zero. DynamoDB's client replaces invalid UTF-8,
// so two such keys could share one marker.
func (c Call) check(now time.Time) error {
	switch {
	case now.IsZero():
		return dynamo.CheckNow(now)
	case c.Key == "":
		return fmt.Errorf("%w: the call's idempotency key is empty; give each call a key of its own", shard.ErrMisused)
	case !utf8.ValidString(c.Key):
		return fmt.Errorf("%w: the call's idempotency key %q is not valid UTF-8; encode its bytes, in hexadecimal for example", shard.ErrMisused, c.Key)
	case len(c.Key) > maxKey:
		return fmt.Errorf("%w: the call's idempotency key %.40q... has %d bytes, of at most %d; use its SHA-256", shard.ErrMisused, c.Key, len(c.Key), maxKey)
	}
	return nil
}

// KeyLifetime is the default of Options.Lifetime.
const KeyLifetime = 24 * time.Hour

// ErrOtherCall means that the idempotency key was used for a call with another digest.
var ErrOtherCall = errors.New("the key was used for a call with another digest: use a new key for a new call")

// Do applies the writes that build returns, and returns nil. If the key's call was applied before, Do applies nothing
// and returns that call's answer. For another call with the same key it returns ErrOtherCall. A key that is empty, not
// UTF-8 or too long is [shard.ErrMisused], and nothing is written.
//
// Do calls build for each attempt, since another write shard may be available, and a write may depend on what build
// read. Each attempt is a transaction of its own, and the marker prevents that two are applied. If build returns an
// error that can't be retried, Do first checks whether the call was applied before, since then the call's own writes
// may be the cause of the error.
//
// If the condition of a library's write fails, Do calls build again. If the condition of a caller's own write fails, Do
// returns the *types.TransactionCanceledException, whose reasons are in the order of the writes. Call Do again if build
// would now return another write.
func (o *Applier) Do(ctx context.Context, call Call, now time.Time,
	build func(context.Context) ([]shardmap.Write, error),
) (before []byte, err error) {
	return o.Decide(ctx, call, now, func(ctx context.Context) ([]shardmap.Write, []byte, error) {
		writes, err := build(ctx)
		return writes, call.Answer, err
	})
}

// Decide is Do for a call whose answer depends on items that the function decide reads. The answer that decide returns
// with the writes replaces call.Answer.
func (o *Applier) Decide(ctx context.Context, call Call, now time.Time,
	decide func(context.Context) ([]shardmap.Write, []byte, error),
) (before []byte, err error) {
	if err := cmp.Or(dynamo.CheckClient(o.client), o.options.check(), call.check(now)); err != nil {
		return nil, err
	}
	try := &callAttempts{Applier: o, call: call, observed: observe.Begin(o.options.Observer), now: now, decide: decide}
	startBy := dynamo.StartBy(ctx)
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		return dynamo.RepeatConflicts(ctx, startBy, func(ctx context.Context) error {
			before, err = try.attempt(ctx)
			return err
		})
	})
	try.sentTwice = try.sentTwice || before != nil
	try.observeConflicts(ctx)
	if err != nil {
		return nil, fmt.Errorf("applying the call with the idempotency key %q: %w", call.Key, err)
	}
	return before, nil
}

// callAttempts makes the attempts of one call, one after the other.
type callAttempts struct {
	*Applier
	call     Call
	observed observe.Call
	now      time.Time // from which the marker's expiry is counted
	decide   func(context.Context) ([]shardmap.Write, []byte, error)

	conflicts []shard.Attempt // not yet observed
	sentTwice bool            // another process or goroutine has also sent the call
}

// attempt makes one attempt. If the call was applied before, it applies nothing and returns the earlier answer. If only
// conditions of the library's writes failed, the error wraps dynamo.ErrOutrun, so that the call is attempted again.
func (t *callAttempts) attempt(ctx context.Context) (before []byte, err error) {
	writes, answer, err := t.decide(ctx)
	if err != nil {
		return t.beforeOrError(ctx, err)
	}
	t.call.Answer = answer
	actions := make([]types.TransactWriteItem, len(writes), len(writes)+1)
	for i, w := range writes {
		actions[i] = w.Action
	}
	_, err = t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: append(actions, t.marker(t.call, t.now)),
	}, dynamo.NoRetry)
	if t.observe(ctx, writes, err) {
		err = dynamo.Final(err)
	}
	if marker, exists := dynamo.ActionFailed(err, len(writes)); exists {
		return parseAnswer(marker, t.call)
	}
	failed := dynamo.FailedActions(err)
	isCallers := func(index int) bool { return writes[index].Attempt.Key == "" }
	if len(failed) > 0 && !slices.ContainsFunc(failed, isCallers) {
		err = fmt.Errorf("%w: %w", dynamo.ErrOutrun, err) // conditions of the library's writes only
	}
	return nil, err
}

// beforeOrError returns the earlier answer if the call was applied before, or else decideErr. It does not look for an
// earlier answer if decideErr can be retried.
func (t *callAttempts) beforeOrError(ctx context.Context, decideErr error) ([]byte, error) {
	if dynamo.WorthRetrying(ctx, decideErr) {
		return nil, decideErr
	}
	before, err := t.Before(ctx, t.call, t.now)
	if before == nil && err == nil {
		err = decideErr
	}
	return before, err
}

// Before returns the answer of the key's call if it was applied, or nil if it was not. For another call with the same
// key it returns ErrOtherCall, and for a key that Do rejects [shard.ErrMisused]. It costs 1 RCU.
func (o *Applier) Before(ctx context.Context, call Call, now time.Time) (answer []byte, err error) {
	if err := cmp.Or(dynamo.CheckClient(o.client), o.options.check(), call.check(now)); err != nil {
		return nil, err
	}
	items, err := dynamo.BatchGet(ctx, o.client, o.table, []dynamo.Item{o.markerKey(call)}, true)
	if err != nil {
		return nil, fmt.Errorf("reading the marker of the call with the idempotency key %q: %w", call.Key, err)
	}
	if len(items) == 0 || dynamo.Expired(dynamo.Item{schema.ExpiresAt: items[0][o.options.TTL]}, now) {
		return nil, nil
	}
	return parseAnswer(items[0], call)
}

// markerKey returns the primary key of a call's marker.
func (o *Applier) markerKey(call Call) dynamo.Item {
	key := dynamo.Item{o.options.PartitionKey: dynamo.String(schema.CallPrefix + call.Key)}
	if o.options.SortKey != "" {
		key[o.options.SortKey] = dynamo.String(schema.SoleSK)
	}
	return key
}

// marker returns the put of a call's marker, on condition that there is none or it has expired.
func (o *Applier) marker(call Call, now time.Time) types.TransactWriteItem {
	it := o.markerKey(call)
	it["digest"] = binary(call.Digest)
	it["answer"] = binary(call.Answer)
	it[schema.Version] = dynamo.Number(1)
	it[o.options.TTL] = dynamo.Number(now.Add(o.options.Lifetime).Unix())
	return types.TransactWriteItem{Put: &types.Put{
		TableName:                           &o.table,
		Item:                                it,
		ConditionExpression:                 aws.String("attribute_not_exists(#pk) OR #ttl <= :now"),
		ExpressionAttributeNames:            map[string]string{"#pk": o.options.PartitionKey, "#ttl": o.options.TTL},
		ExpressionAttributeValues:           dynamo.Item{":now": dynamo.Number(now.Unix())},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// binary returns an attribute of type B. DynamoDB rejects nil, so nil becomes empty.
func binary(b []byte) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: append([]byte{}, b...)}
}

// parseAnswer returns the answer in a marker, or ErrOtherCall if the marker is of another call.
func parseAnswer(marker dynamo.Item, call Call) ([]byte, error) {
	digest, _ := marker["digest"].(*types.AttributeValueMemberB)
	answer, _ := marker["answer"].(*types.AttributeValueMemberB)
	if digest == nil || answer == nil {
		return nil, fmt.Errorf("the marker lacks the digest or the answer, so another program wrote it: delete item %s%s", schema.CallPrefix, call.Key)
	}
	if !bytes.Equal(digest.Value, call.Digest) {
		return nil, ErrOtherCall
	}
	return answer.Value, nil
}
