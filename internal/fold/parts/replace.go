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

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// ErrMoved means that a fragment has changed since it was read, or is being written.
var ErrMoved = errors.New("a fragment has changed since it was read")

// Bounds of a transaction: it has 100 actions, one of them for the merged fragment, and 4 MB.
const (
	MaxReplaced = 99
	maxBytes    = 3 << 20
)

// size returns roughly the size of a fragment's item, in bytes.
func (s *Store[V]) size(p Part[V]) int {
	const overhead = 2 << 10 // keys of up to 1.5 KB, and the names of attributes
	return overhead + s.codec.size(p.Value)
}

// Replaced is the result of a Replace.
type Replaced[V any] struct {
	Merged     Part[V] // the merged fragment after the call, for the next Replace
	Emptied    int     // fragments
	WriteUnits float64 // consumed, as DynamoDB reports them; at least two for each fragment
}

// Replace empties the read fragments that count something, and stores total in the merged fragment,
// which then expires at expires, in Unix seconds, or never for 0. It writes all or nothing. Emptied
// fragments stay for their sequence numbers for 48 h, or until more is folded into them; so does a
// merged fragment with nothing.
//
// Replace fails with ErrMoved if a fragment that it would empty, or the merged one, is not as it
// was read. A merged fragment that is not in read must be absent: a query may have seen the fragments that
// a merge has emptied, and not yet their sum. If one transaction can't empty all, Replace merges as many as
// possible instead, and fails with ErrMoved.
//
// The watermarks, which may be nil, are sequence numbers of 40 digits, by stream shard.
// total counts all records of a stream shard up to its watermark, folded or not, and no later fold adds
// these records. The stream shard's fragment, which may be absent, gets the watermark if its sequence
// number is lower.
//
// Damaged fragments are replaced like others, if they are still as they were read. One without a
// sequence number needs a watermark, or 48 h without a fold. Fragments that are not in read, or
// count nothing, may change meanwhile. They are not written, except for watermarks.
func (s *Store[V]) Replace(ctx context.Context, key Key, read []Part[V], total V, expires int64, watermarks map[string]string) (done Replaced[V], err error) {
	now := s.now()
	actions, bytes, err := s.emptyActions(key, read, watermarks, now)
	if err == nil && (len(actions) > MaxReplaced || bytes > maxBytes) {
		tooMany := fmt.Errorf("one transaction can't empty %d fragments with %d bytes: at most %d with %d bytes", len(actions), bytes, MaxReplaced, maxBytes)
		err = s.mergeMost(ctx, key, read, tooMany)
	}
	if err == nil {
		done.Merged, done.Emptied = s.newMerged(total, expires, now), len(actions)
		done.WriteUnits, err = s.transact(ctx, append(actions, s.putUnchanged(key, done.Merged, mergedIn(read))))
	}
	if err != nil {
		return done, fmt.Errorf("replacing the fragments of %q: %w", key.Target, err)
	}
	return done, nil
}

// mergedIn returns the merged fragment among those read, or the zero Part.
func mergedIn[V any](read []Part[V]) (merged Part[V]) {
	at := slices.IndexFunc(read, Part[V].Merged)
	if at >= 0 {
		merged = read[at]
	}
	return merged
}

// transact writes all or nothing, and returns the consumed write units. ErrMoved means a failed
// condition or a conflicting write.
func (s *Store[V]) transact(ctx context.Context, actions []types.TransactWriteItem) (units float64, err error) {
	out, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: actions, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if ok && dynamo.HasReasonCode(canceled, "ConditionalCheckFailed", "TransactionConflict") {
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

// newMerged returns a new merged fragment. Its sequence number differs each time, so that only one of
// two concurrent replacements succeeds.
func (s *Store[V]) newMerged(total V, expires int64, now time.Time) Part[V] {
	p := Part[V]{StreamShard: schema.MergedPart, Sequence: ulid.Make().String(), AsOf: now, ExpiresAt: expires, Value: total}
	if !s.codec.holds(total) {
		p.Sequence += schema.EmptiedSuffix
		p.ExpiresAt = now.Add(schema.EmptiedLifetime).Unix()
	}
	return p
}

// emptyActions returns the actions that empty the fragments of Replace, except the merged one, and the
// approximate size of these fragments, in bytes.
func (s *Store[V]) emptyActions(key Key, read []Part[V], watermarks map[string]string, now time.Time) (actions []types.TransactWriteItem, bytes int, err error) {
	absent := maps.Clone(watermarks)
	for _, p := range read {
		watermark := absent[p.StreamShard]
		delete(absent, p.StreamShard)
		isEmpty := p.Emptied() && p.Damage == nil && p.Sequence >= watermark
		if p.Merged() || isEmpty {
			continue
		}
		if p.Sequence == "" && watermark == "" {
			if !p.rested(now) {
				return nil, 0, fmt.Errorf("the fragment %q: %w, and its last folded record is unknown", p.StreamShard, p.Damage)
			}
			watermark = strings.Repeat("0", schema.RollupSequenceDigits) // none of its records is redelivered
		}
		actions = append(actions, s.emptyAction(key, p, watermark, now))
		bytes += s.size(p)
	}
	for _, streamShard := range slices.Sorted(maps.Keys(absent)) {
		actions = append(actions, s.emptyAction(key, Part[V]{StreamShard: streamShard}, absent[streamShard], now))
	}
	return actions, bytes, nil
}

// emptyAction returns the action that empties a fragment. It stores an empty one if p has only its
// stream shard.
func (s *Store[V]) emptyAction(key Key, p Part[V], watermark string, now time.Time) types.TransactWriteItem {
	left := Part[V]{
		StreamShard: p.StreamShard, ExpiresAt: now.Add(schema.EmptiedLifetime).Unix(),
		Sequence: max(strings.TrimRight(p.Sequence, schema.EmptiedSuffix), watermark) + schema.EmptiedSuffix,
	}
	if left.Sequence == p.Sequence {
		left.Sequence += schema.EmptiedSuffix // differs from any that a fold may have read
	}
	return s.putUnchanged(key, left, p)
}

// putUnchanged returns the action that stores a fragment, if it is still as it was read.
func (s *Store[V]) putUnchanged(key Key, p, was Part[V]) types.TransactWriteItem {
	put := &types.Put{TableName: &s.table, Item: s.codec.attributes(p)}
	maps.Copy(put.Item, key.itemKey(p.StreamShard))
	put.ConditionExpression, put.ExpressionAttributeNames, put.ExpressionAttributeValues = s.unchanged(was)
	return types.TransactWriteItem{Put: put}
}

// unchanged returns the condition that a fragment is still as it was read. The sequence number
// identifies the state of an undamaged fragment.
func (s *Store[V]) unchanged(p Part[V]) (condition *string, names map[string]string, values item) {
	if len(p.stored) == 0 && p.Sequence == "" {
		return aws.String("attribute_not_exists(pk)"), nil, nil
	}
	if p.Damage == nil {
		return aws.String(schema.RollupSequence + " = :was"), nil, item{":was": dynamo.String(p.Sequence)}
	}
	attributes := append(slices.Sorted(maps.Keys(s.codec.encode(p.Value))), schema.RollupSequence, schema.ExpiresAt)
	return dynamo.UnchangedCondition(p.stored, attributes...)
}

// Choose returns the fragments that one Replace should merge, with the merged one if it exists. It
// returns none if merging would not reduce their number, or the merged one is damaged. It calls
// want only for fragments that count. A fragment that would push the merged one over its bounds
// stays, so that readers keep seeing all fields.
func (s *Store[V]) Choose(read []Part[V], want func(Part[V]) bool) (chosen []Part[V]) {
	now := s.now()
	var total V
	bytes, emptied, kept := 0, 0, 0
	was := mergedIn(read)
	if was.Damage != nil {
		return nil
	}
	if was.Merged() {
		chosen, bytes = append(chosen, was), s.size(was)
	}
	if was.Merged() && was.Counts(now) {
		s.codec.merge(&total, was.Value)
		kept = 1
	}
	for _, p := range read {
		if p.Merged() || !p.Counts(now) || !want(p) || !s.codec.fits(total, p.Value) {
			continue
		}
		bytes += s.size(p)
		if bytes > maxBytes || emptied == MaxReplaced {
			break
		}
		chosen = append(chosen, p)
		s.codec.merge(&total, p.Value)
		emptied++
	}
	if emptied+kept < 2 {
		return nil
	}
	return chosen
}

// Merge merges the chosen fragments into one, and returns all fragments after that.
func (s *Store[V]) Merge(ctx context.Context, key Key, read, chosen []Part[V], expires int64) (left []Part[V], done Replaced[V], err error) {
	done, err = s.Replace(ctx, key, chosen, s.Sum(chosen), expires, nil)
	if err != nil {
		return read, done, err
	}
	merged := map[string]bool{}
	for _, p := range chosen {
		merged[p.StreamShard] = true
	}
	left = slices.DeleteFunc(slices.Clone(read), func(p Part[V]) bool { return merged[p.StreamShard] })
	return append(left, done.Merged), done, nil
}

// mergeMost merges as many fragments as possible, and returns ErrMoved then. If it can merge none, it returns tooMany.
func (s *Store[V]) mergeMost(ctx context.Context, key Key, read []Part[V], tooMany error) error {
	outcome := tooMany
	for {
		chosen := s.Choose(read, func(Part[V]) bool { return true })
		if len(chosen) == 0 {
			return outcome
		}
		expires, _ := LatestExpiry(chosen, s.now())
		var err error
		if read, _, err = s.Merge(ctx, key, read, chosen, expires); err != nil {
			return err
		}
		outcome = ErrMoved
	}
}
