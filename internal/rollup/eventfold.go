package rollup

import (
	"cmp"
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
	"github.com/maypok86/otter/v2"

	"github.com/hotshard/hotshard/internal/rollup/partial"
	"github.com/hotshard/hotshard/internal/schema"
)

// eventFolder folds events into the parts of their rollups.
type eventFolder struct {
	client    updater
	table     string
	retention time.Duration // 0 is for ever
	now       func() time.Time
	parts     *otter.Cache[bucketKey, partial.Partial] // as they were written or found last; not changed
}

// maxPartBytes bounds, roughly, the memory for parts that a container remembers.
const maxPartBytes = 16 << 20

func newEventFolder(client updater, settings Settings, now func() time.Time) *eventFolder {
	return &eventFolder{
		client: client, table: settings.RollupsTable, retention: settings.RollupRetention, now: now,
		parts: otter.Must(&otter.Options[bucketKey, partial.Partial]{MaximumWeight: maxPartBytes, Weigher: weigh}),
	}
}

// weigh is about what a part takes in memory.
func weigh(key bucketKey, p partial.Partial) uint32 {
	const part, measure = 300, 300
	n := part + len(key.pk) + len(key.sk)
	for field := range p.Measures {
		n += measure + len(field)
	}
	return uint32(n)
}

// fold adds the records of a bucket that its part does not have yet, in one
// update. The condition is that the part is as this container remembers it: a
// failed one returns the part as it is, and what lies beyond its sequence number
// is then added to that.
func (f *eventFolder) fold(ctx context.Context, b *bucket) error {
	if b.streamShard == "" {
		return errNoStreamShard
	}
	slices.SortStableFunc(b.records, func(x, y occurrence) int { return cmp.Compare(x.place, y.place) })
	known, _ := f.parts.GetIfPresent(b.bucketKey)
	for range maxRounds {
		next, news := advance(known, b.records)
		if !news {
			return nil
		}
		_, err := f.client.UpdateItem(ctx, f.update(b, known, next))
		refused, conflict := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case err == nil:
			f.parts.Set(b.bucketKey, next)
			return nil
		case inTransaction(ctx, err):
			continue
		case !conflict:
			return fmt.Errorf("folding events into %q, %q: %w", b.pk, b.sk, err)
		}
		if known, err = found(refused.Item); err != nil {
			return fmt.Errorf("folding events into %q, %q: %w: %w", b.pk, b.sk, errUnreadable, err)
		}
		f.parts.Set(b.bucketKey, known)
	}
	return fmt.Errorf("folding events into %q, %q: others were faster %d times", b.pk, b.sk, maxRounds)
}

// found reads the part that refused an update; there may be none any more.
func found(item map[string]types.AttributeValue) (partial.Partial, error) {
	if len(item) == 0 {
		return partial.Partial{}, nil
	}
	return partial.Parse(item)
}

// advance returns a part after these records, which are in order; news is false
// when it has them all.
func advance(known partial.Partial, records []occurrence) (next partial.Partial, news bool) {
	next = known.Clone()
	for _, o := range records {
		if o.place <= next.Sequence {
			continue
		}
		if o.restated {
			next.Restated = true
		} else {
			next.Add(o.numbers)
		}
		next.Sequence, news = o.place, true
	}
	return next, news
}

// update writes the part anew. Its old sequence number stands for all that it was.
func (f *eventFolder) update(b *bucket, known, next partial.Partial) *dynamodb.UpdateItemInput {
	attributes, remove := next.Attributes(), " REMOVE "+schema.ExpiresAt
	attributes[schema.AsOf] = &types.AttributeValueMemberN{Value: strconv.FormatInt(f.now().UnixMilli(), 10)}
	if f.retention > 0 {
		remove = ""
		attributes[schema.ExpiresAt] = &types.AttributeValueMemberN{Value: strconv.FormatInt(f.expiry(b.end).Unix(), 10)}
	}
	values := map[string]types.AttributeValue{}
	var sets []string
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		sets = append(sets, name+" = :"+name)
		values[":"+name] = attributes[name]
	}
	condition := "attribute_not_exists(" + schema.RollupSequence + ")"
	if known.Sequence != "" {
		condition = schema.RollupSequence + " = :was"
		values[":was"] = &types.AttributeValueMemberS{Value: known.Sequence}
	}
	return &dynamodb.UpdateItemInput{
		TableName:                           &f.table,
		Key:                                 itemKey(b.pk, b.sk),
		UpdateExpression:                    aws.String("SET " + strings.Join(sets, ", ") + remove),
		ConditionExpression:                 &condition,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// expiry is the retention after the bucket's end or this fold: a record can come
// again for a day after it was folded, and must find the part.
func (f *eventFolder) expiry(end time.Time) time.Time {
	if now := f.now(); now.After(end) {
		end = now
	}
	return end.Add(f.retention)
}
