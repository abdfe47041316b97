package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/decimal"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// loss has the records of a batch that a target will never get.
type loss struct {
	reason    error
	sequences []string // never empty
}

// isPermanent reports whether an error would recur with the same records.
func isPermanent(err error) bool {
	// DynamoDB rejects a summary that exceeds the size of an item, and a number with more than 38 digits.
	return errors.Is(err, parts.ErrUnreadable) || dynamo.IsRejected(err)
}

// targetOf returns a record's target, or an unknown one if its keys can't be read. ok is false for a record that is not
// folded, and for a delete by TTL if the summary expires with its items.
func (d *delivery) targetOf(r *ddbstream.Record) (target string, ok bool) {
	pk, readable := r.Keys.String(schema.PK)
	if !readable {
		return schema.UnknownTarget(d.batch.StreamShard(), string(r.Sequence)), true
	}
	sk, _ := r.Keys.String(schema.SK)
	t, ok := Target(pk, sk)
	s, _ := summaryOf(t.Base.Type)
	expiredWithItem := s.expires && r.Expired
	if !ok || expiredWithItem || !d.isOn(schema.TraitsOf(t.Base.Type).Summary) {
		return "", false
	}
	return t.String(), true
}

// addLoss adds records that a target will not get from the stream.
func (d *delivery) addLoss(target string, reason error, sequences ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lost[target]
	if l == nil {
		l = &loss{}
		d.lost[target] = l
	}
	l.reason = reason
	l.sequences = append(l.sequences, sequences...)
}

// storeFailure stores that a target lacks records. If that fails, the records must be redelivered.
func (d *delivery) storeFailure(ctx context.Context, target string) {
	l := d.lost[target]
	err := dynamo.PersistSum(ctx, func(ctx context.Context) error {
		_, err := d.client.UpdateItem(ctx, d.failureUpdate(target, l), dynamo.NoRetry)
		return err
	})
	if t, parseErr := schema.ParseTarget(target); parseErr == nil {
		if s, _ := summaryOf(t.Base.Type); s.missed != nil {
			err = errors.Join(err, s.missed(ctx, d, t))
		}
	}
	if err != nil {
		d.requestRedelivery(fmt.Errorf("storing that %q lacks records: %w", target, err), l.sequences...)
	}
}

// maxReason bounds the reason in a failure, in characters.
const maxReason = 300

// failureUpdate returns the update that stores, or adds to, a target's failure.
func (d *delivery) failureUpdate(target string, l *loss) *dynamodb.UpdateItemInput {
	values := dynamo.Item{
		":v": dynamo.Number(1), ":n": dynamo.Number(int64(len(l.sequences))), ":at": dynamo.Number(d.now().UnixMilli()),
		":reason": dynamo.String(fmt.Sprintf("%.*s", maxReason, l.reason)), ":sequence": dynamo.String(slices.MaxFunc(l.sequences, decimal.CompareWhole)),
	}
	update := "SET v = :v, reason = :reason, #sequence = :sequence, last_at = :at, first_at = if_not_exists(first_at, :at)"
	if d.batch.ShardID != "" {
		update += ", stream_shard = :shard"
		values[":shard"] = dynamo.String(d.batch.ShardID)
	}
	return &dynamodb.UpdateItemInput{
		TableName: &d.table, Key: dynamo.Key(schema.FailureKey(target)),
		UpdateExpression:          aws.String(update + " ADD failures :n"),
		ExpressionAttributeNames:  map[string]string{"#sequence": schema.FailureSequence},
		ExpressionAttributeValues: values,
	}
}
