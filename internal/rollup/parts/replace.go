package parts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

// ErrMoved is the error, by errors.Is, when a part is no longer as it was read, or
// is being written.
var ErrMoved = errors.New("a part has changed since it was read")

// ErrTooMany is the error, by errors.Is, when one transaction can't take all parts
// that are to be emptied: merge some of them first.
var ErrTooMany = errors.New("more parts are to be emptied than one transaction can take: merge some of them first")

// Bounds of a transaction: it has 100 actions, of which the merged part is one, and 4 MB.
const (
	MaxReplaced = 99
	maxBytes    = 3 << 20
)

// size is about what a part takes as an item.
func (s *Store[V]) size(p Part[V]) int {
	const overhead = 2 << 10 // keys of up to 1.5 KB, and the names of attributes
	return overhead + s.kind.size(p.Value)
}

// Replaced is what a Replace has done.
type Replaced[V any] struct {
	Merged     Part[V] // the merged part as it is now, for the next Replace
	Emptied    int     // parts
	WriteUnits float64 // that it took: what DynamoDB says, and two for each part at least
}

// Replace empties those of the parts read that hold something, and puts total into the
// merged part, until the time expires, Unix seconds, 0 for ever; all at once or not at
// all. Parts that are emptied stay for their sequence numbers for 48 h, or until more is
// folded into them, and so does a merged part with nothing. It fails with ErrMoved, and
// writes nothing, when a part that it would empty or the merged one is not as read has
// it, absent if read has none; and with ErrTooMany.
//
// Floors, which may be nil, has sequence numbers of 40 digits by stream shard. What lies
// at or below one is in total, also where no fold ever took it, and no fold will take it
// any more: the parts of those stream shards, absent ones too, are left with the floor
// if theirs is lower.
//
// Damaged parts are replaced as any, on condition that they still are as they were read.
// One that lacks its sequence number needs a floor, or to have rested for 48 h. Parts
// that are not among read, or hold nothing, may change meanwhile and are left alone, but
// for floors.
func (s *Store[V]) Replace(ctx context.Context, key Key, read []Part[V], total V, expires int64, floors map[string]string) (done Replaced[V], err error) {
	now := s.now()
	actions, bytes, err := s.empty(key, read, floors, now)
	if err == nil && (len(actions) > MaxReplaced || bytes > maxBytes) {
		err = fmt.Errorf("%w: %d parts with %d bytes of %d and %d", ErrTooMany, len(actions), bytes, MaxReplaced, maxBytes)
	}
	if err == nil {
		done.Merged, err = s.merged(total, expires, now)
	}
	if err == nil {
		done.Emptied = len(actions)
		done.WriteUnits, err = s.transact(ctx, append(actions, s.put(key, done.Merged, mergedIn(read))))
	}
	if err != nil {
		return done, fmt.Errorf("replacing the parts of %q: %w", key.Target, err)
	}
	return done, nil
}

// Empty leaves nothing of the parts read, the merged one included, but their sequence
// numbers, with floors as in Replace: nothing that they count is there any more. It is
// for any number of parts that are never negative, as an event rollup's: what they have goes
// nowhere, so that they need not be emptied at once. With ErrMoved some were not, and those
// that were stay empty: read again, and see whether all that they count is still gone.
func (s *Store[V]) Empty(ctx context.Context, key Key, read []Part[V], floors map[string]string) error {
	now := s.now()
	actions, _, err := s.empty(key, read, floors, now)
	was := mergedIn(read)
	if err == nil && was.Merged() && !was.Emptied() {
		actions = append(actions, s.emptied(key, was, "", now))
	}
	for chunk := range slices.Chunk(actions, MaxReplaced) {
		if err == nil {
			_, err = s.transact(ctx, chunk)
		}
	}
	if err != nil {
		return fmt.Errorf("emptying the parts of %q: %w", key.Target, err)
	}
	return nil
}

// mergedIn returns the merged part among those read, the zero Part without one.
func mergedIn[V any](read []Part[V]) (merged Part[V]) {
	at := slices.IndexFunc(read, Part[V].Merged)
	if at >= 0 {
		merged = read[at]
	}
	return merged
}

// transact writes at once or not at all. A condition that failed, or another write that
// was under way, is ErrMoved: both mean that nothing was written.
func (s *Store[V]) transact(ctx context.Context, actions []types.TransactWriteItem) (units float64, err error) {
	out, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: actions, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if ok && dynamo.HasReason(canceled, "ConditionalCheckFailed", "TransactionConflict") {
		return 0, ErrMoved
	}
	if err != nil {
		return 0, err
	}
	for _, used := range out.ConsumedCapacity {
		units += aws.ToFloat64(used.CapacityUnits)
	}
	return max(units, float64(2*len(actions))), nil
}

// merged makes the merged part. Its sequence number is another one each time, so that of
// two who replace what they read at a time one is refused.
func (s *Store[V]) merged(total V, expires int64, now time.Time) (p Part[V], err error) {
	id, err := ulid.New(ulid.Timestamp(now), ulid.DefaultEntropy())
	if err != nil {
		return p, fmt.Errorf("making a sequence number: %w", err)
	}
	p = Part[V]{StreamShard: schema.MergedPart, Sequence: id.String(), AsOf: now, ExpiresAt: expires, Value: total}
	if !s.kind.holds(total) {
		p.Sequence += schema.EmptiedSuffix
		p.ExpiresAt = now.Add(schema.EmptiedLifetime).Unix()
	}
	return p, nil
}

// empty lists what leaves nothing of the parts but their sequence numbers, changed, all
// but the merged one, and about how many bytes they have now.
func (s *Store[V]) empty(key Key, read []Part[V], floors map[string]string, now time.Time) (actions []types.TransactWriteItem, bytes int, err error) {
	absent := maps.Clone(floors)
	for _, p := range read {
		floor := absent[p.StreamShard]
		delete(absent, p.StreamShard)
		if p.Merged() || p.Emptied() && p.Damage == nil && p.Sequence >= floor {
			continue
		}
		if p.Sequence == "" && floor == "" && p.rested(now) {
			floor = strings.Repeat("0", schema.RollupSequenceDigits) // nothing that it had comes again
		}
		if p.Sequence == "" && floor == "" {
			return nil, 0, fmt.Errorf("the part %q: %w, and it is not known how far it was folded", p.StreamShard, p.Damage)
		}
		actions = append(actions, s.emptied(key, p, floor, now))
		bytes += s.size(p)
	}
	for _, streamShard := range slices.Sorted(maps.Keys(absent)) {
		actions = append(actions, s.emptied(key, Part[V]{StreamShard: streamShard}, absent[streamShard], now))
	}
	return actions, bytes, nil
}

// emptied empties a part; one that was neither read nor made by hand is absent.
func (s *Store[V]) emptied(key Key, p Part[V], floor string, now time.Time) types.TransactWriteItem {
	left := Part[V]{
		StreamShard: p.StreamShard, ExpiresAt: now.Add(schema.EmptiedLifetime).Unix(),
		Sequence: max(strings.TrimRight(p.Sequence, schema.EmptiedSuffix), floor) + schema.EmptiedSuffix,
	}
	if left.Sequence == p.Sequence {
		left.Sequence += schema.EmptiedSuffix // another than any fold may have read
	}
	return s.put(key, left, p)
}

// put stores a part, if what is there still is as it was read.
func (s *Store[V]) put(key Key, p, was Part[V]) types.TransactWriteItem {
	put := &types.Put{TableName: &s.table, Item: s.kind.attributes(p)}
	maps.Copy(put.Item, key.of(p.StreamShard))
	put.ConditionExpression, put.ExpressionAttributeNames, put.ExpressionAttributeValues = s.unchanged(was)
	return types.TransactWriteItem{Put: put}
}

// unchanged is the condition that a part still is as it was read. Its sequence number
// stands for all that it is, if it is not damaged.
func (s *Store[V]) unchanged(p Part[V]) (condition *string, names map[string]string, values item) {
	if len(p.stored) == 0 && p.Sequence == "" {
		return aws.String("attribute_not_exists(pk)"), nil, nil
	}
	if p.Damage == nil {
		return aws.String(schema.RollupSequence + " = :was"), nil, item{":was": dynamo.String(p.Sequence)}
	}
	attributes := append(slices.Sorted(maps.Keys(s.kind.encode(p.Value))), schema.RollupSequence, schema.ExpiresAt)
	return dynamo.Unchanged(p.stored, attributes...)
}

// Choose returns those parts that one Replace is to merge, the merged one among them, if
// there is one; none if that would not make fewer of them, or the merged one is damaged.
// Only parts that count are asked about, and one that would bring the merged part above
// its bounds stays as it is, so that readers see all that they saw.
func (s *Store[V]) Choose(read []Part[V], want func(Part[V]) bool) (chosen []Part[V]) {
	now := s.now()
	var total V
	bytes, giving, into := 0, 0, 0
	was := mergedIn(read)
	if was.Damage != nil {
		return nil
	}
	if was.Merged() {
		chosen, bytes = append(chosen, was), s.size(was)
	}
	if was.Merged() && was.Counts(now) {
		s.kind.merge(&total, was.Value)
		into = 1
	}
	for _, p := range read {
		if p.Merged() || !p.Counts(now) || !want(p) || !s.kind.fits(total, p.Value) {
			continue
		}
		bytes += s.size(p)
		if bytes > maxBytes || giving == MaxReplaced {
			break
		}
		chosen = append(chosen, p)
		s.kind.merge(&total, p.Value)
		giving++
	}
	if giving+into < 2 {
		return nil
	}
	return chosen
}

// Merge makes one part of those chosen, and returns all parts as they are then.
func (s *Store[V]) Merge(ctx context.Context, key Key, read, chosen []Part[V], expires int64) (left []Part[V], done Replaced[V], err error) {
	done, err = s.Replace(ctx, key, chosen, s.Sum(chosen), expires, nil)
	if err != nil {
		return read, done, err
	}
	gone := map[string]bool{schema.MergedPart: true}
	for _, p := range chosen {
		gone[p.StreamShard] = true
	}
	left = slices.DeleteFunc(slices.Clone(read), func(p Part[V]) bool { return gone[p.StreamShard] })
	return append(left, done.Merged), done, nil
}

// Squeeze merges as many parts as can be, after Replace has failed with ErrTooMany. Then
// they have moved, and the error is ErrMoved; it is ErrTooMany if there is nothing to merge.
func (s *Store[V]) Squeeze(ctx context.Context, key Key, read []Part[V]) error {
	err := fmt.Errorf("the parts of %q can't be merged: %w", key.Target, ErrTooMany)
	for {
		chosen := s.Choose(read, func(Part[V]) bool { return true })
		if len(chosen) == 0 {
			return err
		}
		expires, _ := Last(chosen, s.now())
		if read, _, err = s.Merge(ctx, key, read, chosen, expires); err != nil {
			return err
		}
		err = ErrMoved
	}
}
