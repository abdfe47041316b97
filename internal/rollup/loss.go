package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// loss is what a target lacks of a batch, for good.
type loss struct {
	reason    error
	sequences []string // never empty
}

// permanent tells errors that would come again with the same records from those
// that may pass.
func permanent(err error) bool {
	if errors.Is(err, parts.ErrUnreadable) {
		return true
	}
	// The summary outgrew an item, or a number DynamoDB's digits.
	refused, ok := errors.AsType[smithy.APIError](err)
	return ok && refused.ErrorCode() == "ValidationException"
}

// targetOf returns what a record folds into, as well as can be told; ok is false
// for what is not folded.
func (d *delivery) targetOf(r *ddbstream.Record) (target string, ok bool) {
	pk, readable := r.Keys.String(schema.PK)
	if !readable {
		return schema.UnknownTarget(d.batch.ShardID, string(r.Sequence)), true
	}
	sk, _ := r.Keys.String(schema.SK)
	t, ok := d.rules.Target(pk, sk)
	if !ok || t.Base.Type == schema.Board && r.Expired {
		return "", false
	}
	return t.String(), true
}

// lose notes records that a target will not get from the stream.
func (d *delivery) lose(target string, reason error, sequences ...string) {
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

// park notes a failure: that a target lacks records. Until that
// is done the records must come again. The top of a board is looked at again without
// being asked for.
func (d *delivery) park(ctx context.Context, target string) {
	l := d.lost[target]
	_, err := d.client.UpdateItem(ctx, d.failure(target, l))
	if t, no := schema.ParseTarget(target); no == nil && t.Base.Type == schema.Board {
		err = errors.Join(err, d.tops.note(ctx, &boardNews{Period: parts.Period{Board: t.Base.Name, Label: t.Period}}))
	}
	if err != nil {
		d.retry(fmt.Errorf("noting that %q lacks records: %w", target, err), l.sequences...)
	}
}

// maxReason bounds the reason that a failure has, in characters.
const maxReason = 300

func (d *delivery) failure(target string, l *loss) *dynamodb.UpdateItemInput {
	values := dynamo.Item{
		":v": dynamo.Number(1), ":n": dynamo.Number(int64(len(l.sequences))), ":at": dynamo.Number(d.now().UnixMilli()),
		":reason": dynamo.String(fmt.Sprintf("%.*s", maxReason, l.reason)), ":sequence": dynamo.String(slices.MaxFunc(l.sequences, inStream)),
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

// inStream compares sequence numbers, which may have any number of digits.
func inStream(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
