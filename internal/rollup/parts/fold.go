package parts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/memo"
	"github.com/hotshard/hotshard/internal/schema"
)

// ErrUnreadable is the error, by errors.Is, of a stored summary whose form folds can't go
// on from.
var ErrUnreadable = errors.New("what is stored can't be read")

// errNoStreamShard: without it a record's sequence number says nothing about what
// was folded before.
var errNoStreamShard = errors.New("event rollups and boards need an event source mapping with a tumbling window: this one does not name its stream shard")

// Record is one stream record's news for a part.
type Record[V any] struct {
	Sequence string // of the record, as [Sequence] makes it
	Apply    func(*V)
}

// Sequence gives a record's sequence number the length at which text order is number
// order.
func Sequence(sequence string) (string, error) {
	if len(sequence) > schema.RollupSequenceDigits || strings.Trim(sequence, "0123456789") != "" {
		return "", fmt.Errorf("its sequence number is not one of up to %d digits", schema.RollupSequenceDigits)
	}
	return strings.Repeat("0", schema.RollupSequenceDigits-len(sequence)) + sequence, nil
}

// Folder folds records into parts of one kind. It remembers the parts as it wrote or
// found them last, and is safe for concurrent use.
type Folder[V any] struct {
	client dynamo.Updater
	store  *Store[V]
	known  memo.Memo[Part[V]] // by partition and sort key
}

// Bounds of a Folder.
const (
	maxRounds     = 10       // how often one fold starts over
	maxKnownBytes = 16 << 20 // of memory, roughly, for the parts that it remembers
)

// Folder returns one. Its memory is its own.
func (s *Store[V]) Folder(client dynamo.Updater) *Folder[V] {
	const overhead, memory = 300, 3 // an item's, and what a byte of it takes in memory
	return &Folder[V]{client, s, memo.Weighing(maxKnownBytes, func(place string, p Part[V]) uint32 {
		return uint32(overhead + len(place) + memory*s.kind.size(p.Value))
	})}
}

// Fold adds the records that the stream shard's part does not have yet, in one update. The
// part then ends at expires, the zero time for never. The update's condition is that the
// part is as this Folder remembers it: a failed one returns the part as it is, and what
// lies beyond its sequence number is then added to that.
func (f *Folder[V]) Fold(ctx context.Context, key Key, streamShard string, expires time.Time, records []Record[V]) error {
	if streamShard == "" {
		return errNoStreamShard
	}
	slices.SortStableFunc(records, func(x, y Record[V]) int { return cmp.Compare(x.Sequence, y.Sequence) })
	place := key.PK + "\x00" + key.Prefix + streamShard // no key of ours has a NUL
	known, _ := f.known.Get(place)
	known.StreamShard = streamShard
	var next Part[V]
	err := dynamo.Guarded(ctx, f.client, maxRounds, func() (*dynamodb.UpdateItemInput, error) {
		var news bool
		next, news = f.advance(known, records)
		if !news {
			return nil, nil
		}
		next.AsOf = f.store.now()
		if !expires.IsZero() {
			next.ExpiresAt = expires.Unix()
		}
		return f.update(key, known.Sequence, next), nil
	}, func(found item) error {
		known = Part[V]{}
		if len(found) > 0 {
			known = f.store.kind.parse(found)
		}
		if known.Damage != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, known.Damage)
		}
		known.StreamShard, known.stored = streamShard, nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("folding into %q, %q: %w", key.PK, key.Prefix+streamShard, err)
	}
	f.known.Set(place, next)
	return nil
}

// advance returns a part after these records, which are in order; news is false when
// the part has them all.
func (f *Folder[V]) advance(known Part[V], records []Record[V]) (next Part[V], news bool) {
	next = Part[V]{StreamShard: known.StreamShard, Sequence: known.Sequence, Value: f.store.kind.clone(known.Value)}
	for _, r := range records {
		if r.Sequence <= next.Sequence {
			continue
		}
		r.Apply(&next.Value)
		next.Sequence, news = r.Sequence, true
	}
	return next, news
}

// update writes the part anew. Its old sequence number stands for all that it was.
func (f *Folder[V]) update(key Key, was string, next Part[V]) *dynamodb.UpdateItemInput {
	attributes, remove := f.store.kind.attributes(next), ""
	if next.ExpiresAt == 0 {
		remove = " REMOVE " + schema.ExpiresAt
	}
	values := item{}
	var sets []string
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		sets = append(sets, name+" = :"+name)
		values[":"+name] = attributes[name]
	}
	condition := "attribute_not_exists(" + schema.RollupSequence + ")"
	if was != "" {
		condition = schema.RollupSequence + " = :was"
		values[":was"] = dynamo.String(was)
	}
	return &dynamodb.UpdateItemInput{
		TableName: &f.store.table, Key: key.of(next.StreamShard),
		UpdateExpression:    aws.String("SET " + strings.Join(sets, ", ") + remove),
		ConditionExpression: &condition, ExpressionAttributeValues: values,
	}
}
