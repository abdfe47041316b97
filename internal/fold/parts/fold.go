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

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// ErrUnreadable means that a fold can't read the stored summary, or an item that it needs.
var ErrUnreadable = errors.New("the stored summary can't be read")

// errNoStreamShard means that a delivery names no stream shard. A sequence number alone doesn't show
// whether its record was folded.
var errNoStreamShard = errors.New("the delivery names no stream shard: give the event source mapping a tumbling window, which event rollups and boards need")

// Record is one stream record's change of a fragment.
type Record[V any] struct {
	Sequence string   // the record's sequence number, as [Sequence] returns it
	Apply    func(*V) // makes the change
}

// Sequence returns a record's sequence number with leading zeros, so that text order is number order.
func Sequence(sequence string) (string, error) {
	if len(sequence) > schema.RollupSequenceDigits || strings.Trim(sequence, "0123456789") != "" {
		return "", fmt.Errorf("its sequence number %.60q is not a number of up to %d digits", sequence, schema.RollupSequenceDigits)
	}
	return strings.Repeat("0", schema.RollupSequenceDigits-len(sequence)) + sequence, nil
}

// Folder folds records into fragments of one kind of summary. It caches the fragments that it wrote
// or found, and is safe for concurrent use.
type Folder[V any] struct {
	client client.Updater
	store  *Store[V]
	known  dynamo.Cache[Part[V]] // by partition and sort key
}

// Bounds of a Folder.
const (
	maxRounds     = 10       // attempts of one fold
	maxKnownBytes = 16 << 20 // approximate memory for cached fragments
)

// Folder returns a Folder with a cache of its own.
func (s *Store[V]) Folder(client client.Updater) *Folder[V] {
	const overhead, memory = 300, 3 // bytes in memory: of each fragment, and for each byte of its value
	return &Folder[V]{client, s, dynamo.NewWeightedCache(maxKnownBytes, func(cacheKey string, p Part[V]) uint32 {
		return uint32(overhead + len(cacheKey) + memory*s.codec.size(p.Value))
	})}
}

// Fold adds the records that the stream shard's fragment does not have yet, in one update. expires is the fragment's new
// expiry; the zero time is never. Fold reads nothing: the update's condition is that the fragment is as the Folder has
// cached it. After a failed condition, which returns the stored fragment, Fold adds the records with higher sequence
// numbers to that.
func (f *Folder[V]) Fold(ctx context.Context, key Key, streamShard string, expires time.Time, records []Record[V]) error {
	if streamShard == "" {
		return errNoStreamShard
	}
	slices.SortStableFunc(records, func(x, y Record[V]) int { return cmp.Compare(x.Sequence, y.Sequence) })
	pk, sk := key.keys(streamShard)
	cacheKey := pk + "\x00" + sk // keys never contain a NUL
	known, _ := f.known.Get(cacheKey)
	known.StreamShard = streamShard
	var next Part[V]
	err := dynamo.UpdateGuarded(ctx, f.client, maxRounds, func() (*dynamodb.UpdateItemInput, error) {
		var changed bool
		next, changed = f.advance(known, records)
		if !changed {
			return nil, nil
		}
		next.AsOf = f.store.now()
		if !expires.IsZero() {
			next.ExpiresAt = expires.Unix()
		}
		return f.store.update(key, known.Sequence, next), nil
	}, func(found item) error {
		known = Part[V]{}
		if len(found) > 0 {
			known = f.store.codec.parse(found)
		}
		if known.Damage != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, known.Damage)
		}
		known.StreamShard, known.stored = streamShard, nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("folding into %q, %q: %w", pk, sk, err)
	}
	f.known.Set(cacheKey, next)
	return nil
}

// advance returns a copy of a fragment, and applies the records with higher sequence numbers to it. The records are in
// the order of these numbers. changed is false if there is none to apply.
func (f *Folder[V]) advance(known Part[V], records []Record[V]) (next Part[V], changed bool) {
	next = Part[V]{StreamShard: known.StreamShard, Sequence: known.Sequence, Value: f.store.codec.clone(known.Value)}
	for _, r := range records {
		if r.Sequence <= next.Sequence {
			continue
		}
		r.Apply(&next.Value)
		next.Sequence, changed = r.Sequence, true
	}
	return next, changed
}

// update returns the update that stores next, on the condition that the stored fragment has this sequence number, or has
// none if it is "".
func (s *Store[V]) update(key Key, was string, next Part[V]) *dynamodb.UpdateItemInput {
	attributes, remove := s.codec.attributes(next), ""
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
		TableName: &s.table, Key: key.itemKey(next.StreamShard),
		UpdateExpression:    aws.String("SET " + strings.Join(sets, ", ") + remove),
		ConditionExpression: &condition, ExpressionAttributeValues: values,
	}
}
