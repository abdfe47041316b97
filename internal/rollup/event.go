package rollup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/rollup/measures"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// bucket is a stream shard's part of an event rollup, and what is to be folded
// into it, in stream order.
type bucket struct {
	parts.Bucket
	streamShard string
	records     []parts.Record[measures.Part]
	all         []string // sequence numbers, as the records have them
}

func (b *bucket) sequences() []string { return b.all }

// buckets collects the events of one batch by what they fold into.
type buckets struct {
	rules       Rules
	streamShard string
	list        map[parts.Bucket]*bucket
}

func newBuckets(rules Rules, streamShard string) *buckets {
	return &buckets{rules: rules, streamShard: streamShard, list: map[parts.Bucket]*bucket{}}
}

// add takes in a record, if it is about an event that is rolled up. The error says
// why one can't be; then its bucket will never have it from the stream, since what
// follows is folded and lies beyond it.
func (b *buckets) add(r *ddbstream.Record) error {
	pk, _ := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	t, ok := b.rules.Target(pk, sk)
	if !ok || t.Base.Type != schema.Entity {
		return nil
	}
	rule, _ := b.rules.find(t.Base.Name) // there is one, or it would have no target
	apply, err := rule.read(r)
	if err == nil && apply == nil {
		return nil
	}
	place, noPlace := parts.Sequence(string(r.Sequence))
	if err = cmp.Or(err, noPlace); err != nil {
		return fmt.Errorf("record %s, an event of %q: %w", r.Sequence, t.Base.Name, err)
	}
	key := parts.BucketFor(t)
	if b.list[key] == nil {
		b.list[key] = &bucket{Bucket: key, streamShard: b.streamShard}
	}
	to := b.list[key]
	to.all = append(to.all, string(r.Sequence))
	to.records = append(to.records, parts.Record[measures.Part]{Sequence: place, Apply: apply})
	return nil
}

// data is the attribute that has what a caller said of an event.
const data = "data"

// read says what a record does to a rollup, nil for nothing. Only a new event adds to
// it; one that is removed, by TTL or otherwise, stays in it.
func (r rule) read(record *ddbstream.Record) (apply func(*measures.Part), err error) {
	switch record.Name {
	case ddbstream.Insert:
		numbers, err := r.numbers(record.New)
		return func(p *measures.Part) { p.Add(numbers) }, err
	case ddbstream.Modify:
		if !record.New.Present() || !record.Old.Present() {
			return nil, errors.New("it lacks an image")
		}
		if !record.New.Same(record.Old, data) {
			return func(p *measures.Part) { p.Restated = true }, nil
		}
	}
	return nil, nil
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
