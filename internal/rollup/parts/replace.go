package parts

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// MaxFields bounds the fields of a merged part. A fold's part has up to
// partial.MaxMeasures, each of its own. With names of 255 bytes the merged part then
// has 80 KB, of the 400 KB that an item may have.
const MaxFields = 200

// Replaced is what a Replace has done.
type Replaced struct {
	Merged     Part    // the merged part as it is now, for the next Replace of the bucket
	WriteUnits float64 // that it took: what DynamoDB says, and two for each part at least
}

// Replace empties those of the parts read that hold something, and puts total into
// the merged part, all at once or not at all. The emptied parts stay for their
// sequence numbers for 48 h, or until more is folded into them. It fails with
// ErrMoved, and writes nothing, when a part that it would empty or the merged one
// is not as read has it, absent if read has none; and without ErrMoved when there
// are more than MaxReplaced parts to empty.
//
// Floors, which may be nil, has sequence numbers of 40 digits by stream shard. What
// lies at or below one is in total, also where no fold ever took it, and no fold
// will take it any more: the parts of those stream shards, absent ones too, are left
// with the floor if theirs is lower.
//
// Parts that are not among read, or hold nothing, may change meanwhile and are left
// alone, but for floors. Sequence in total has no meaning.
func (s *Store) Replace(ctx context.Context, b Bucket, read []Part, total partial.Partial, floors map[string]string) (done Replaced, err error) {
	now := s.now()
	actions := s.empty(b, read, floors, now)
	if len(actions) > MaxReplaced {
		return done, fmt.Errorf("replacing the rollup %q: %d parts are to be emptied, and one transaction can take %d: merge some of them first", b, len(actions), MaxReplaced)
	}
	if done.Merged, err = s.merged(b, read, total, now); err != nil {
		return done, fmt.Errorf("replacing the rollup %q: %w", b, err)
	}
	out, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems:          append(actions, types.TransactWriteItem{Put: s.put(b, read, done.Merged)}),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if Moved(err) {
		return done, fmt.Errorf("replacing the rollup %q: %w", b, ErrMoved)
	}
	if err != nil {
		return done, fmt.Errorf("replacing the rollup %q: %w", b, err)
	}
	for _, used := range out.ConsumedCapacity {
		done.WriteUnits += aws.ToFloat64(used.CapacityUnits)
	}
	done.WriteUnits = max(done.WriteUnits, float64(2*(len(actions)+1)))
	return done, nil
}

// Moved tells of a transaction's error whether a condition failed or another write
// was under way. Both of them mean that nothing was written.
func Moved(err error) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
		code := aws.ToString(r.Code)
		return code == "ConditionalCheckFailed" || code == "TransactionConflict"
	})
}

// empty lists what leaves nothing of the parts but their sequence numbers, changed.
func (s *Store) empty(b Bucket, read []Part, floors map[string]string, now time.Time) (actions []types.TransactWriteItem) {
	left := maps.Clone(floors)
	for _, p := range read {
		floor := left[p.StreamShard]
		delete(left, p.StreamShard)
		if p.StreamShard != schema.MergedPart && (p.Holds() || p.Sequence < floor) {
			actions = append(actions, s.emptied(b, p.StreamShard, p.Sequence, floor, now))
		}
	}
	for _, streamShard := range slices.Sorted(maps.Keys(left)) {
		actions = append(actions, s.emptied(b, streamShard, "", left[streamShard], now))
	}
	return actions
}

// emptied empties a part that has the sequence number was, "" for an absent one.
func (s *Store) emptied(b Bucket, streamShard, was, floor string, now time.Time) types.TransactWriteItem {
	none := partial.Partial{Sequence: max(was, floor) + schema.EmptiedSuffix}
	attributes := none.Attributes()
	update := &types.Update{
		TableName: &s.table, Key: b.key(streamShard),
		UpdateExpression: aws.String("SET v = :v, seq = :seq, events = :events, measures = :measures, expires_at = :expires" +
			" REMOVE skipped, restated"),
		ConditionExpression: aws.String("attribute_not_exists(seq)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":v":        attributes[schema.Version],
			":seq":      attributes[schema.RollupSequence],
			":events":   attributes[schema.RollupEvents],
			":measures": attributes[schema.RollupMeasures],
			":expires":  &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(schema.EmptiedLifetime).Unix(), 10)},
		},
	}
	if was != "" {
		update.ConditionExpression = aws.String("seq = :was")
		update.ExpressionAttributeValues[":was"] = &types.AttributeValueMemberS{Value: was}
	}
	return types.TransactWriteItem{Update: update}
}

// NewSequence returns a sequence number for a merged part. It is another one each
// time, so that of two who replace what they read at a time one is refused.
func NewSequence(now time.Time) (string, error) {
	id, err := ulid.New(ulid.Timestamp(now), ulid.DefaultEntropy())
	if err != nil {
		return "", fmt.Errorf("making a sequence number: %w", err)
	}
	return id.String(), nil
}

// merged makes the merged part.
func (s *Store) merged(b Bucket, read []Part, total partial.Partial, now time.Time) (p Part, err error) {
	p = Part{StreamShard: schema.MergedPart, AsOf: now, ExpiresAt: s.expiry(b, read, total, now), Partial: total}
	p.Sequence, err = NewSequence(now)
	return p, err
}

// put stores the merged part in the place of the one that was read.
func (s *Store) put(b Bucket, read []Part, p Part) *types.Put {
	item := p.Attributes()
	maps.Copy(item, b.key(p.StreamShard))
	item[schema.AsOf] = &types.AttributeValueMemberN{Value: strconv.FormatInt(p.AsOf.UnixMilli(), 10)}
	if p.ExpiresAt != 0 {
		item[schema.ExpiresAt] = &types.AttributeValueMemberN{Value: strconv.FormatInt(p.ExpiresAt, 10)}
	}
	put := &types.Put{TableName: &s.table, Item: item, ConditionExpression: aws.String("attribute_not_exists(seq)")}
	at := slices.IndexFunc(read, func(p Part) bool { return p.StreamShard == schema.MergedPart })
	if at >= 0 {
		put.ConditionExpression = aws.String("seq = :was")
		put.ExpressionAttributeValues = map[string]types.AttributeValue{
			":was": &types.AttributeValueMemberS{Value: read[at].Sequence},
		}
	}
	return put
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
