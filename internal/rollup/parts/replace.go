package parts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/rollup/partial"
	"github.com/hotshard/hotshard/internal/schema"
)

// ErrMoved is the error, by errors.Is, when a part is no longer as it was read, or
// is being written.
var ErrMoved = errors.New("a part of the rollup has changed since it was read")

// MaxReplaced is how many parts one Replace can empty: a transaction has at most
// 100 actions, and the merged part is one.
const MaxReplaced = 99

// Replace empties those of the parts read that hold something, and puts total into
// the merged part, all at once or not at all. The emptied parts stay for their
// sequence numbers for 48 h, or until more is folded into them. It fails with
// ErrMoved, and writes nothing, when a part that it would empty or the merged one
// is not as read has it, absent if read has none; and without ErrMoved when there
// are more than MaxReplaced parts to empty.
//
// Parts that are not among read, or hold nothing, may change meanwhile and are left
// alone. Sequence in total has no meaning.
func (s *Store) Replace(ctx context.Context, b Bucket, read []Part, total partial.Partial) error {
	now := s.now()
	var actions []types.TransactWriteItem
	for _, p := range read {
		if p.Holds() && p.StreamShard != schema.MergedPart {
			actions = append(actions, types.TransactWriteItem{Update: s.empty(b, p, now)})
		}
	}
	if len(actions) > MaxReplaced {
		return fmt.Errorf("replacing the rollup %q: %d parts hold something, and one transaction can take %d: merge some of them first", b, len(actions), MaxReplaced)
	}
	merged, err := s.merged(b, read, total, now)
	if err != nil {
		return fmt.Errorf("replacing the rollup %q: %w", b, err)
	}
	_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: append(actions, types.TransactWriteItem{Put: merged}),
	})
	if moved(err) {
		return fmt.Errorf("replacing the rollup %q: %w", b, ErrMoved)
	}
	if err != nil {
		return fmt.Errorf("replacing the rollup %q: %w", b, err)
	}
	return nil
}

// moved tells whether a condition failed or another write was under way. Both of
// them mean that nothing was written.
func moved(err error) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
		code := aws.ToString(r.Code)
		return code == "ConditionalCheckFailed" || code == "TransactionConflict"
	})
}

// empty leaves nothing of a part but its sequence number, changed.
func (s *Store) empty(b Bucket, p Part, now time.Time) *types.Update {
	none := partial.Partial{Sequence: p.Sequence + schema.EmptiedSuffix}
	attributes := none.Attributes()
	return &types.Update{
		TableName: &s.table, Key: b.key(p.StreamShard),
		UpdateExpression: aws.String("SET seq = :seq, events = :events, measures = :measures, expires_at = :expires" +
			" REMOVE skipped, restated"),
		ConditionExpression: aws.String("seq = :was"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":seq":      attributes[schema.RollupSequence],
			":events":   attributes[schema.RollupEvents],
			":measures": attributes[schema.RollupMeasures],
			":expires":  &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(schema.EmptiedLifetime).Unix(), 10)},
			":was":      &types.AttributeValueMemberS{Value: p.Sequence},
		},
	}
}

// merged puts the merged part. Its sequence number is a new one each time, so that
// of two who replace what they read at a time one is refused.
func (s *Store) merged(b Bucket, read []Part, total partial.Partial, now time.Time) (*types.Put, error) {
	id, err := ulid.New(ulid.Timestamp(now), ulid.DefaultEntropy())
	if err != nil {
		return nil, fmt.Errorf("making a sequence number: %w", err)
	}
	total.Sequence = id.String()
	item := total.Attributes()
	for name, value := range b.key(schema.MergedPart) {
		item[name] = value
	}
	item[schema.AsOf] = &types.AttributeValueMemberN{Value: strconv.FormatInt(now.UnixMilli(), 10)}
	if at := s.expiry(b, read, total, now); at != 0 {
		item[schema.ExpiresAt] = &types.AttributeValueMemberN{Value: strconv.FormatInt(at, 10)}
	}
	put := &types.Put{TableName: &s.table, Item: item, ConditionExpression: aws.String("attribute_not_exists(seq)")}
	at := slices.IndexFunc(read, func(p Part) bool { return p.StreamShard == schema.MergedPart })
	if at >= 0 {
		put.ConditionExpression = aws.String("seq = :was")
		put.ExpressionAttributeValues = map[string]types.AttributeValue{
			":was": &types.AttributeValueMemberS{Value: read[at].Sequence},
		}
	}
	return put, nil
}

// expiry is when the merged part ends: not before any part whose place it takes,
// nor before the retention after the bucket's end. Made of nothing, it is kept as
// a fold's part is. It is 0 for never.
func (s *Store) expiry(b Bucket, read []Part, total partial.Partial, now time.Time) int64 {
	if !holds(total) {
		return now.Add(schema.EmptiedLifetime).Unix()
	}
	if s.retention == 0 {
		return 0
	}
	end, found := b.End(), false
	latest := end.Add(s.retention).Unix()
	for _, p := range read {
		if !p.Holds() || p.Expired(now) {
			continue
		}
		if p.ExpiresAt == 0 {
			return 0
		}
		latest, found = max(latest, p.ExpiresAt), true
	}
	if !found && now.After(end) {
		latest = now.Add(s.retention).Unix()
	}
	return latest
}
