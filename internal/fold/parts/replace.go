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

// Bounds of a transaction, which may have 100 actions and 4 MB.
const (
	MaxReplaced = 99      // fragments, besides the merged one
	maxBytes    = 3 << 20 // approximate bytes of these fragments
)

// size returns the approximate size of a fragment's item, in bytes.
func (s *Store[V]) size(p Part[V]) int {
	const overhead = 2 << 10 // keys of up to 1.5 KB, and the names of attributes
	return overhead + s.codec.size(p.Value)
}

// Replaced is the result of a Replace.
type Replaced[V any] struct {
	Merged     Part[V] // the merged fragment after the call, for the next Replace
	Emptied    int     // number of fragments that were emptied, or stored empty for a watermark
	WriteUnits float64 // consumed, as DynamoDB reports them; at least two for each fragment
}

// Replace empties the read fragments that are not empty, and stores total in the merged fragment. expires is the merged
// fragment's expiry, in Unix seconds; 0 is never. Replace writes all or nothing. The emptied fragments keep their sequence
// numbers for 48 h, or until more is folded into them. A merged fragment whose total counts nothing stays for 48 h too.
//
// Replace returns ErrMoved if a fragment that it would empty, or the merged fragment, is not as it was read. A merged
// fragment that is not in read must be absent: the read may have returned emptied fragments without their sum. If
// one transaction can't empty all fragments, Replace merges as many as possible instead, and returns ErrMoved.
//
// The watermarks, which may be nil, are sequence numbers of 40 digits by stream shard. total counts all records of a
// stream shard up to its watermark, folded or not. So that no later fold adds these records, the stream shard's
// fragment, which may be absent, gets the watermark if its sequence number is lower.
//
// Damaged fragments are emptied like others. A damaged fragment without a sequence number needs a watermark, or 48 h
// without a fold. Fragments that are not in read, or are empty, are written only for watermarks, and may change
// meanwhile.
func (s *Store[V]) Replace(ctx context.Context, key Key, read []Part[V], total V, expires int64, watermarks map[string]string) (done Replaced[V], err error) {
	now := s.now()
	actions, bytes, err := s.emptyActions(key, read, watermarks, now)
	if err == nil && (len(actions) > MaxReplaced || bytes > maxBytes) {
		tooMany := fmt.Errorf("one transaction can't empty %d fragments with %d bytes: the most are %d with %d bytes", len(actions), bytes, MaxReplaced, maxBytes)
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
	if i := slices.IndexFunc(read, Part[V].Merged); i >= 0 {
		merged = read[i]
	}
	return merged
}

// transact writes all or nothing, and returns the consumed write units. After a failed condition or a conflicting write it
// returns ErrMoved.
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

// newMerged returns a new merged fragment. Each has another sequence number, so that only one of two concurrent
// replacements succeeds.
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
	absent := maps.Clone(watermarks) // in the end only those of fragments that were not read
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
			watermark = strings.Repeat("0", schema.RollupSequenceDigits) // no record of the fragment can be redelivered
		}
		actions = append(actions, s.emptyAction(key, p, watermark, now))
		bytes += s.size(p)
	}
	for _, streamShard := range slices.Sorted(maps.Keys(absent)) {
		actions = append(actions, s.emptyAction(key, Part[V]{StreamShard: streamShard}, absent[streamShard], now))
	}
	return actions, bytes, nil
}

// emptyAction returns the action that empties a fragment, or stores an empty one for an absent fragment, a p with only the
// stream shard. The emptied fragment has the watermark if that is above p's sequence number.
func (s *Store[V]) emptyAction(key Key, p Part[V], watermark string, now time.Time) types.TransactWriteItem {
	emptied := Part[V]{
		StreamShard: p.StreamShard, ExpiresAt: now.Add(schema.EmptiedLifetime).Unix(),
		Sequence: max(strings.TrimRight(p.Sequence, schema.EmptiedSuffix), watermark) + schema.EmptiedSuffix,
	}
	if emptied.Sequence == p.Sequence {
		emptied.Sequence += schema.EmptiedSuffix // differs from each sequence number that a fold may have read
	}
	return s.putUnchanged(key, emptied, p)
}

// putUnchanged returns the action that stores the fragment p, if the stored fragment is still was.
func (s *Store[V]) putUnchanged(key Key, p, was Part[V]) types.TransactWriteItem {
	put := &types.Put{TableName: &s.table, Item: s.codec.attributes(p)}
	maps.Copy(put.Item, key.itemKey(p.StreamShard))
	put.ConditionExpression, put.ExpressionAttributeNames, put.ExpressionAttributeValues = s.unchanged(was)
	return types.TransactWriteItem{Put: put}
}

// unchanged returns the condition that a fragment is still as it was read, or absent if it was not read. An undamaged
// fragment is unchanged if its sequence number is, and a damaged one if all its attributes but as_of are.
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

// Choose returns the fragments that one Replace should merge: the merged fragment, if it exists, and fragments that
// count and for which want returns true, as many as a transaction can empty. It omits a fragment whose fields would not
// fit into the merged one. It returns none if merging would not reduce their number, or the merged one is damaged.
func (s *Store[V]) Choose(read []Part[V], want func(Part[V]) bool) (chosen []Part[V]) {
	now := s.now()
	var total V
	bytes, emptied, mergedBefore := 0, 0, 0
	was := mergedIn(read)
	if was.Damage != nil {
		return nil
	}
	if was.Merged() {
		chosen, bytes = append(chosen, was), s.size(was)
	}
	if was.Merged() && was.Counts(now) {
		s.codec.merge(&total, was.Value)
		mergedBefore = 1
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
	if emptied+mergedBefore < 2 {
		return nil
	}
	return chosen
}

// Merge merges the chosen fragments into the merged one by Replace. left has the merged one and those that were not
// chosen; after an error, all.
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

// mergeMost merges as many fragments as possible, and returns ErrMoved. If it can merge none, it returns tooMany.
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
