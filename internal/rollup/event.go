package rollup

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/schema"
)

// occurrence is a record's news for an event rollup: an event that is new, or one
// that came again with other data.
type occurrence struct {
	sequence string            // as the record has it
	place    string            // the same with leading zeros: text order is number order
	numbers  map[string]string // by field; of a new event
	restated bool
}

// bucket is a stream shard's part of an event rollup, and what is to be folded
// into it, in stream order.
type bucket struct {
	partKey
	streamShard string
	target      string
	end         time.Time
	records     []occurrence
}

func (b *bucket) sequences() []string {
	list := make([]string, len(b.records))
	for i, o := range b.records {
		list[i] = o.sequence
	}
	return list
}

// buckets collects the events of one batch by what they fold into.
type buckets struct {
	rules       Rules
	streamShard string
	list        map[partKey]*bucket
}

func newBuckets(rules Rules, streamShard string) *buckets {
	return &buckets{rules: rules, streamShard: streamShard, list: map[partKey]*bucket{}}
}

// add takes in a record, if it is about an event that is rolled up. The error says
// why one can't be; then its bucket will never have it from the stream, since what
// follows is folded and lies beyond it.
func (b *buckets) add(r *ddbstream.Record) error {
	entity, at, ok := eventOf(r)
	if !ok {
		return nil
	}
	rule, ok := b.rules.find(entity)
	if !ok {
		return nil
	}
	o, ok, err := rule.read(r)
	if err != nil {
		return fmt.Errorf("record %s, an event of %q: %w", r.Sequence, entity, err)
	}
	if !ok {
		return nil
	}
	pk, sk := schema.RollupKey(entity, rule.bucket(), at, b.streamShard)
	key := partKey{pk, sk}
	if b.list[key] == nil {
		width := rule.bucket().Width()
		b.list[key] = &bucket{
			partKey: key, streamShard: b.streamShard,
			target: schema.EventTarget(entity, rule.bucket(), at), end: at.Truncate(width).Add(width),
		}
	}
	b.list[key].records = append(b.list[key].records, o)
	return nil
}

// eventOf returns whose event a record is about, and its time; ok is false for
// other items, those beside an entity's events included, and what lies on another
// day than its time, where no reader of events finds it.
func eventOf(r *ddbstream.Record) (entity string, at time.Time, ok bool) {
	pk, _ := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	key, err := schema.ParseKey(pk)
	if err != nil || key.Base.Type != schema.Entity {
		return "", at, false
	}
	at, _, err = schema.ParseEventSortKey(sk)
	return key.Base.Name, at, err == nil && schema.EventBucket.Label(at, 0) == key.Bucket
}

// data is the attribute that has what a caller said of an event.
const data = "data"

// read says what a record means for a rollup. Only a new event adds to it; one
// that is removed, by TTL or otherwise, stays in it.
func (r rule) read(record *ddbstream.Record) (o occurrence, ok bool, err error) {
	switch record.Name {
	case ddbstream.Insert:
		if o.numbers, err = r.numbers(record.New); err != nil {
			return o, false, err
		}
	case ddbstream.Modify:
		if !record.New.Present() || !record.Old.Present() {
			return o, false, errors.New("it lacks an image")
		}
		if o.restated = !record.New.Same(record.Old, data); !o.restated {
			return o, false, nil
		}
	default:
		return o, false, nil
	}
	o.sequence = string(record.Sequence)
	o.place, err = placeOf(o.sequence)
	return o, true, err
}

// numbers returns the numbers of an event that the rule wants.
func (r rule) numbers(image ddbstream.Image) (map[string]string, error) {
	if !image.Present() {
		return nil, errors.New("it lacks its new image")
	}
	if !image.Has(data) {
		return nil, nil
	}
	numbers, ok := image.Numbers(data)
	if !ok {
		return nil, fmt.Errorf("its %s is not a map", data)
	}
	maps.DeleteFunc(numbers, func(field, _ string) bool { return !r.wants(field) })
	return numbers, nil
}

// placeOf gives a sequence number the length at which text order is number order.
func placeOf(sequence string) (string, error) {
	if len(sequence) > schema.RollupSequenceDigits || strings.Trim(sequence, "0123456789") != "" {
		return "", fmt.Errorf("its sequence number is not one of up to %d digits", schema.RollupSequenceDigits)
	}
	return strings.Repeat("0", schema.RollupSequenceDigits-len(sequence)) + sequence, nil
}
