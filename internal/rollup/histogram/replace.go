package histogram

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// maxBytes bounds, roughly, the items of one transaction, as they are before it. A
// transaction may have 4 MB: DynamoDB's quota. A part has 40 KB at most, mostly 5.
const maxBytes = 3 << 20

// size is about what a part takes as an item.
func (p Part) size() int {
	const overhead = 2 << 10 // keys of up to 1.5 KB, and the names of attributes
	const cell = 20          // at most, packed
	if cells, ok := p.stored[schema.HistogramCells].(*types.AttributeValueMemberB); ok {
		return overhead + len(cells.Value)
	}
	return overhead + cell*p.Cells.Cells()
}

// Choose returns those parts that one Replace is to merge, the merged one among
// them, if there is one; none if that would not make fewer of them. Among those that
// want is asked about are none that were emptied, have expired or are damaged.
func Choose(read []Part, now time.Time, want func(Part) bool) (chosen []Part) {
	bytes, into := 0, 0
	if at := slices.IndexFunc(read, Part.merged); at >= 0 {
		p := read[at]
		if p.Damage != nil {
			return nil // an audit makes it anew
		}
		chosen, bytes = []Part{p}, p.size()
		if !p.Expired(now) {
			into = 1
		}
	}
	first := len(chosen)
	for _, p := range read {
		if p.merged() || p.Emptied() || p.Damage != nil || p.Expired(now) || !want(p) {
			continue
		}
		if bytes += p.size(); bytes > maxBytes || len(chosen)-first == parts.MaxReplaced {
			break
		}
		chosen = append(chosen, p)
	}
	if len(chosen)-first+into < 2 {
		return nil
	}
	return chosen
}

func (p Part) merged() bool { return p.StreamShard == schema.MergedPart }

// Without returns the parts that are not among those chosen: with what a Replace has
// made of these, for the next.
func Without(read, chosen []Part) []Part {
	gone := map[string]bool{}
	for _, p := range chosen {
		gone[p.StreamShard] = true
	}
	return slices.DeleteFunc(slices.Clone(read), func(p Part) bool { return p.merged() || gone[p.StreamShard] })
}

// ErrTooMany is the error, by errors.Is, when one transaction can't take all parts
// that are to be emptied: some are to be merged first.
var ErrTooMany = errors.New("more is to be emptied than one transaction can take")

// Replaced is what a Replace has done.
type Replaced struct {
	Merged     Part    // the merged part as it is now, for the next Replace
	Emptied    int     // parts
	WriteUnits float64 // that it took: what DynamoDB says, and two for each part at least
}

// Replace empties those of the parts read that were not emptied before, and puts
// total, its cells and its expiry, into the merged part, all at once or not at all. Parts that are emptied stay
// for their sequence numbers for 48 h, or until more is folded into them. It fails
// with [parts.ErrMoved], and writes nothing, when a part that it would empty or the
// merged one is not as read has it, absent if read has none; and with ErrTooMany.
//
// Floors, which may be nil, has sequence numbers of 40 digits by stream shard, up to
// which total has everything; no fold will take that any more. The parts of those
// stream shards, absent ones too, are left with the floor if theirs is lower.
//
// Damaged parts are replaced as any, on condition that they still are as they were
// read. One that lacks its sequence number needs a floor, or to have rested for 48 h.
func (s *Store) Replace(ctx context.Context, name, period string, read []Part, total Part, floors map[string]string) (done Replaced, err error) {
	pk := schema.BoardRollupKey(name, period)
	fault := func(err error) error { return fmt.Errorf("replacing the histogram %q: %w", pk, err) }
	now := s.now()
	actions, err := s.empty(pk, read, floors, now)
	if err != nil {
		return done, fault(err)
	}
	done.Merged = Part{StreamShard: schema.MergedPart, AsOf: now, ExpiresAt: total.ExpiresAt, Cells: total.Cells}
	if done.Merged.Sequence, err = parts.NewSequence(now); err != nil {
		return done, fault(err)
	}
	done.Emptied = len(actions)
	out, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems:          append(actions, types.TransactWriteItem{Put: s.put(pk, read, done.Merged)}),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if parts.Moved(err) {
		return done, fault(parts.ErrMoved)
	}
	if err != nil {
		return done, fault(err)
	}
	for _, used := range out.ConsumedCapacity {
		done.WriteUnits += aws.ToFloat64(used.CapacityUnits)
	}
	done.WriteUnits = max(done.WriteUnits, float64(2*(len(actions)+1)))
	return done, nil
}

// empty lists what leaves nothing of the parts but their sequence numbers, changed.
func (s *Store) empty(pk string, read []Part, floors map[string]string, now time.Time) (actions []types.TransactWriteItem, err error) {
	left := maps.Clone(floors)
	bytes := 0
	for _, p := range read {
		floor := left[p.StreamShard]
		delete(left, p.StreamShard)
		if p.merged() || p.Emptied() && p.Damage == nil && p.Sequence >= floor {
			continue
		}
		if p.Sequence == "" && floor == "" && p.rested(now) {
			floor = strings.Repeat("0", schema.RollupSequenceDigits) // nothing that it had comes again
		}
		if p.Sequence == "" && floor == "" {
			return nil, fmt.Errorf("the part %q: %w, and it is not known how far it was folded", p.StreamShard, p.Damage)
		}
		actions = append(actions, s.emptied(pk, p, floor, now))
		bytes += p.size()
	}
	for _, streamShard := range slices.Sorted(maps.Keys(left)) {
		actions = append(actions, s.emptied(pk, Part{StreamShard: streamShard}, left[streamShard], now))
	}
	if len(actions) > parts.MaxReplaced || bytes > maxBytes {
		return nil, fmt.Errorf("%w: %d parts with %d bytes of %d and %d", ErrTooMany, len(actions), bytes, parts.MaxReplaced, maxBytes)
	}
	return actions, nil
}

// rested tells whether nothing was folded for as long as a stream has its records.
func (p Part) rested(now time.Time) bool {
	return !p.AsOf.IsZero() && now.Sub(p.AsOf) > schema.EmptiedLifetime
}

// emptied empties a part; one with nothing stored is absent.
func (s *Store) emptied(pk string, p Part, floor string, now time.Time) types.TransactWriteItem {
	left := Part{StreamShard: p.StreamShard, Sequence: max(strings.TrimRight(p.Sequence, schema.EmptiedSuffix), floor) + schema.EmptiedSuffix}
	if left.Sequence == p.Sequence {
		left.Sequence += schema.EmptiedSuffix // another than any fold may have read
	}
	left.ExpiresAt = now.Add(schema.EmptiedLifetime).Unix()
	return types.TransactWriteItem{Put: s.conditional(pk, left, p)}
}

// put stores the merged part in the place of the one that was read.
func (s *Store) put(pk string, read []Part, p Part) *types.Put {
	was := Part{}
	if at := slices.IndexFunc(read, Part.merged); at >= 0 {
		was = read[at]
	}
	return s.conditional(pk, p, was)
}

// conditional stores a part, if what is there still is as it was read.
func (s *Store) conditional(pk string, p, was Part) *types.Put {
	stored := p.Attributes()
	stored[schema.PK] = &types.AttributeValueMemberS{Value: pk}
	stored[schema.SK] = &types.AttributeValueMemberS{Value: schema.HistogramPrefix + p.StreamShard}
	if !p.AsOf.IsZero() {
		stored[schema.AsOf] = &types.AttributeValueMemberN{Value: strconv.FormatInt(p.AsOf.UnixMilli(), 10)}
	}
	if p.ExpiresAt != 0 {
		stored[schema.ExpiresAt] = &types.AttributeValueMemberN{Value: strconv.FormatInt(p.ExpiresAt, 10)}
	}
	put := &types.Put{TableName: &s.table, Item: stored}
	put.ConditionExpression, put.ExpressionAttributeValues = was.unchanged()
	return put
}

// unchanged is the condition that a part still is as it was read. Its sequence
// number stands for all that it is, if it is not damaged.
func (p Part) unchanged() (*string, item) {
	if len(p.stored) == 0 && p.Sequence == "" {
		return aws.String("attribute_not_exists(pk)"), nil
	}
	if p.Damage == nil {
		return aws.String(schema.RollupSequence + " = :was"), item{":was": &types.AttributeValueMemberS{Value: p.Sequence}}
	}
	conditions, values := []string{"attribute_exists(pk)"}, item{}
	for _, name := range []string{schema.Version, schema.RollupSequence, schema.HistogramCells, schema.ExpiresAt} {
		if p.stored[name] == nil {
			conditions = append(conditions, "attribute_not_exists("+name+")")
			continue
		}
		conditions, values[":"+name] = append(conditions, name+" = :"+name), p.stored[name]
	}
	if len(values) == 0 {
		values = nil
	}
	return aws.String(strings.Join(conditions, " AND ")), values
}
