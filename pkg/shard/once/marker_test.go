package once_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// stored returns the marker of the key k with a digest, an answer and the time at which it expires. It has no digest or
// answer if that is nil.
func stored(digest, answer []byte, expires time.Time) dynamo.Item {
	it := dynamo.Key("I#k", "-")
	it["expires_at"] = dynamo.Number(expires.Unix())
	for name, value := range map[string][]byte{"digest": digest, "answer": answer} {
		if value != nil {
			it[name] = &types.AttributeValueMemberB{Value: value}
		}
	}
	return it
}

var (
	errDamaged = errors.New("any error but those of once and shard")
	errRead    = errors.New("not read")
)

// TestMarkerDecidesAnswer checks what Before returns by the key's marker, and that Do returns the same if the call's writes
// can't be built, or the transaction meets the marker. An expired marker counts as absent.
func TestMarkerDecidesAnswer(t *testing.T) {
	now, d := libtest.Later, []byte("d")
	notBuilt := errors.New("not built")
	for name, c := range map[string]struct {
		marker dynamo.Item
		answer []byte
		err    error
		absent bool
	}{
		"no marker":           {nil, nil, nil, true},
		"applied":             {stored(d, []byte("a"), now.Add(time.Second)), []byte("a"), nil, false},
		"applied, no answer":  {stored(d, []byte{}, now.Add(time.Hour)), []byte{}, nil, false},
		"expired":             {stored(d, []byte("a"), now), nil, nil, true},
		"expired, other call": {stored([]byte("e"), []byte("a"), now), nil, nil, true},
		"other call":          {stored([]byte("e"), []byte("a"), now.Add(time.Hour)), nil, once.ErrOtherCall, false},
		"other call, no hash": {stored([]byte{}, []byte("a"), now.Add(time.Hour)), nil, once.ErrOtherCall, false},
		"without a digest":    {stored(nil, []byte("a"), now.Add(time.Hour)), nil, errDamaged, false},
		"without an answer":   {stored(d, nil, now.Add(time.Hour)), nil, errDamaged, false},
		"not read":            {nil, nil, errRead, false},
	} {
		check := func(what string, got []byte, err error, absent error) {
			t.Helper()
			want := c.err
			if c.absent {
				want = absent
			}
			damaged := err != nil && !errors.Is(err, once.ErrOtherCall) && !errors.Is(err, notBuilt)
			if !reflect.DeepEqual(got, c.answer) || !errors.Is(err, want) && !(want == errDamaged && damaged) || (err == nil) != (want == nil) {
				t.Errorf("%s, %s: %q, %v; want %q, %v", name, what, got, err, c.answer, want)
			}
		}
		client, call := &libtest.Scripted{}, once.Call{Key: "k", Digest: d}
		if c.marker != nil {
			client.Items = []dynamo.Item{c.marker}
		}
		if c.err == errRead {
			client.Unread = errRead
		}
		calls := once.New(client, "t", once.Options{})
		got, err := calls.Before(t.Context(), call, now)
		check("Before", got, err, nil)
		if !*client.Read[0].RequestItems["t"].ConsistentRead {
			t.Errorf("%s: the marker's read is eventually consistent", name)
		}
		got, err = calls.Do(t.Context(), call, now, func(context.Context) ([]shardmap.Write, error) { return nil, notBuilt })
		check("Do without writes", got, err, notBuilt)
		if c.absent || c.err == errRead {
			continue // the transaction's condition does not fail
		}
		met := libtest.CanceledFor("ConditionalCheckFailed").(*types.TransactionCanceledException)
		met.CancellationReasons[0].Item = c.marker
		client.Transactions = []error{met}
		got, err = calls.Do(t.Context(), call, now, func(context.Context) ([]shardmap.Write, error) { return nil, nil })
		check("Do", got, err, nil)
	}
}

// TestMarkerIsWrittenWithTheCall checks the transaction of a call: its writes and then the marker, which is written if there
// is none that has not expired.
func TestMarkerIsWrittenWithTheCall(t *testing.T) {
	now, client := libtest.Later, &libtest.Scripted{}
	write := shardmap.Write{Action: types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String("u")}}}
	calls := once.New(client, "t", once.Options{})
	_, err := calls.Decide(t.Context(), once.Call{Key: "k", Digest: []byte("d"), Answer: []byte("replaced")}, now, func(context.Context) ([]shardmap.Write, []byte, error) {
		return []shardmap.Write{write}, []byte("a"), nil
	})
	marker := stored([]byte("d"), []byte("a"), now.Add(24*time.Hour))
	marker["v"] = dynamo.Number(1)
	want := []types.TransactWriteItem{write.Action, {Put: &types.Put{
		TableName: aws.String("t"), Item: marker, ConditionExpression: aws.String("attribute_not_exists(#pk) OR #ttl <= :now"), ExpressionAttributeNames: map[string]string{"#pk": "pk", "#ttl": "expires_at"},
		ExpressionAttributeValues: dynamo.Item{":now": dynamo.Number(now.Unix())}, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}}
	if err != nil || len(client.Transacted) != 1 || !reflect.DeepEqual(client.Transacted[0].TransactItems, want) {
		t.Errorf("%v; sent %+v, want %+v", err, client.Transacted, want)
	}
}

// TestOwnConditionEndsTheCall checks that a failed condition of the caller's own write ends a call, and one of the library's
// does not.
func TestOwnConditionEndsTheCall(t *testing.T) {
	for key, want := range map[string]int{"": 1, "C#a": 3} {
		synctest.Test(t, func(t *testing.T) {
			failed := libtest.CanceledFor("ConditionalCheckFailed", "None")
			client, attempts := &libtest.Scripted{Transactions: []error{failed, failed}}, 0
			_, err := once.New(client, "t", once.Options{}).Do(t.Context(), once.Call{Key: "k"}, libtest.Later, func(context.Context) ([]shardmap.Write, error) {
				attempts++
				return []shardmap.Write{{Attempt: shard.Attempt{Key: key}}}, nil
			})
			_, canceled := errors.AsType[*types.TransactionCanceledException](err)
			if attempts != want || canceled != (key == "") || errors.Is(err, shard.ErrThrottled) {
				t.Errorf("a write of %q: %d attempts, %v; want %d", key, attempts, err, want)
			}
		})
	}
}

// TestRetriesOfACall checks how often the call's writes are built and the marker is read: an error of build that can be
// retried needs no marker. Between two attempts in conflict is a pause of at most 20 ms.
func TestRetriesOfACall(t *testing.T) {
	conflict := libtest.CanceledFor("TransactionConflict")
	for name, c := range map[string]struct {
		built        []error
		transactions []error
		attempts     int
		reads        int
		pauses       bool
	}{
		"at once":              {nil, nil, 1, 0, false},
		"conflicts for ever":   {nil, slices.Repeat([]error{conflict}, 100), 8 * dynamo.MaxAttempts, 0, true},
		"throttled while read": {[]error{libtest.Hot(libtest.TableHot)}, nil, 2, 0, true},
		"rejected":             {[]error{shard.ErrMisused}, nil, 1, 1, false},
		"conflicts":            {nil, []error{conflict, conflict, conflict}, 4, 0, true},
		"a conflict":           {nil, []error{conflict}, 2, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			for range 3 { // one pause of 0 is possible
				attempts, client := 0, &libtest.Scripted{Transactions: c.transactions}
				_, _ = once.New(client, "t", once.Options{}).Do(t.Context(), once.Call{Key: "k"}, time.Now(), func(context.Context) ([]shardmap.Write, error) {
					if attempts++; attempts <= len(c.built) {
						return nil, c.built[attempts-1]
					}
					return nil, nil
				})
				if attempts != c.attempts || len(client.Read) != c.reads {
					t.Errorf("%s: %d attempts, %d reads of the marker; want %d, %d", name, attempts, len(client.Read), c.attempts, c.reads)
				}
			}
			if took := time.Since(begun); (took > 0) != c.pauses || len(c.transactions) < 9 && len(c.built) == 0 && took > 3*60*time.Millisecond {
				t.Errorf("%s: three calls took %v, want pauses: %t", name, took, c.pauses)
			}
		})
	}
}

// slowConflicts is a client whose transactions take 200 ms and conflict.
type slowConflicts struct {
	libtest.Scripted
	begun int
}

func (c *slowConflicts) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.begun++
	time.Sleep(200 * time.Millisecond)
	return nil, libtest.CanceledFor("TransactionConflict")
}

// TestNoAttemptStartsBeforeDeadline checks that no attempt starts in the last quarter of a second before the deadline, and
// none after the context's end.
func TestNoAttemptStartsBeforeDeadline(t *testing.T) {
	for within, want := range map[time.Duration]int{time.Second: 4, 410 * time.Millisecond: 2} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			client := &slowConflicts{}
			_, err := once.New(client, "t", once.Options{}).Do(ctx, once.Call{Key: "k"}, time.Now(), func(context.Context) ([]shardmap.Write, error) { return nil, nil })
			if client.begun != want || !errors.Is(err, shard.ErrContended) {
				t.Errorf("within %v: %d transactions, %v; want %d", within, client.begun, err, want)
			}
		})
	}
}
