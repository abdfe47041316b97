package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// bucketChanges has the changes to fold into a stream shard's fragment of an event rollup, in stream order.
type bucketChanges struct {
	parts.Bucket
	streamShard string
	records     []parts.Record[parts.Rollup]
	all         []string // sequence numbers of the records, as the stream has them
}

func (b *bucketChanges) sequences() []string { return b.all }

// changesByBucket collects the events of one batch by target.
type changesByBucket struct {
	streamShard string
	list        map[parts.Bucket]*bucketChanges
}

func newChangesByBucket(streamShard string) *changesByBucket {
	return &changesByBucket{streamShard: streamShard, list: map[parts.Bucket]*bucketChanges{}}
}

// addRecord adds a record of an event. It returns an error for a record that can't be folded, or only
// in part: an event that became unreadable is subtracted. The rollup never gets the rest of such a record, since later
// folds skip the record by its sequence number.
func (b *changesByBucket) addRecord(r *ddbstream.Record) error {
	pk, _ := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	t, ok := eventTarget(pk, sk)
	if !ok {
		return nil
	}
	apply, err := changeOf(r)
	if err == nil && apply == nil {
		return nil
	}
	sequence, sequenceErr := parts.Sequence(string(r.Sequence))
	if sequenceErr == nil && apply != nil {
		b.addEvent(t, string(r.Sequence), parts.Record[parts.Rollup]{Sequence: sequence, Apply: apply})
	}
	if err = cmp.Or(err, sequenceErr); err != nil {
		return fmt.Errorf("reading an event of %q: %w", t.Base.Name, err)
	}
	return nil
}

func (b *changesByBucket) addEvent(t schema.Target, sequence string, r parts.Record[parts.Rollup]) {
	key := parts.BucketFor(t)
	if b.list[key] == nil {
		b.list[key] = &bucketChanges{Bucket: key, streamShard: b.streamShard}
	}
	changes := b.list[key]
	changes.all = append(changes.all, sequence)
	changes.records = append(changes.records, r)
}

func (b *changesByBucket) jobs(d *delivery) (jobs []job) {
	for _, b := range b.list {
		jobs = append(jobs, job{
			target:    b.Key().Target,
			fold:      func(ctx context.Context) error { return d.events.fold(ctx, b) },
			sequences: b.sequences,
		})
	}
	return jobs
}

// eventTarget returns the hour that an event is rolled up in. ok is false for other items, and for an event whose key has
// another day than its time, because no reader of events finds it.
func eventTarget(pk, sk string) (t schema.Target, ok bool) {
	key, pkErr := schema.ParseKey(pk)
	at, _, skErr := schema.ParseEventSortKey(sk)
	if pkErr != nil || skErr != nil || schema.TraitsOf(key.Base.Type).Summary != schema.RollupSummary || schema.EventBucket.Label(at) != key.Bucket {
		return t, false
	}
	return schema.Target{Base: key.Base, Hour: at.UTC().Truncate(time.Hour)}, true
}

func storedEventTarget(pk, sk string) (schema.Target, bool) {
	b, _, ok := parts.BucketOf(pk, sk)
	return b.Target(), ok
}

// data is the attribute with the caller's data of an event.
const data = "data"

// changeOf returns the change that a record makes to a rollup, or nil for none. It subtracts a deleted event, unless TTL
// deleted it. It subtracts and adds an event that was put again with other data. An event whose data can't be read is not
// counted: if an event becomes unreadable, changeOf returns the change that subtracts it, and an error.
func changeOf(record *ddbstream.Record) (apply func(*parts.Rollup), err error) {
	switch record.Name {
	case ddbstream.Insert:
		numbers, err := imageNumbers(record.New)
		if err != nil {
			return nil, err
		}
		return func(p *parts.Rollup) { p.Add(numbers) }, nil
	case ddbstream.Remove:
		numbers, err := imageNumbers(record.Old)
		wasNotAdded := err != nil && record.Old.Present() // because its data couldn't be read
		if record.Expired || wasNotAdded {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return func(p *parts.Rollup) { p.Subtract(numbers) }, nil
	case ddbstream.Modify:
		before, beforeErr := imageNumbers(record.Old)
		after, afterErr := imageNumbers(record.New)
		switch {
		case !record.Old.Present() || !record.New.Present():
			return nil, cmp.Or(afterErr, beforeErr)
		case beforeErr != nil && afterErr != nil:
			return nil, afterErr
		case afterErr != nil:
			return func(p *parts.Rollup) { p.Subtract(before) }, afterErr
		case beforeErr != nil:
			return func(p *parts.Rollup) { p.Add(after) }, nil
		case maps.Equal(before, after):
			return nil, nil
		}
		return func(p *parts.Rollup) {
			p.Subtract(before)
			p.Add(after)
		}, nil
	}
	return nil, nil
}

// imageNumbers returns the numbers of an event, by field; nil for an event without data.
func imageNumbers(image ddbstream.Image) (map[string]string, error) {
	if !image.Present() {
		return nil, errors.New("its record lacks an image: set the stream's view type to NEW_AND_OLD_IMAGES")
	}
	if !image.Has(data) {
		return nil, nil
	}
	numbers, ok := image.Numbers(data)
	if !ok {
		return nil, fmt.Errorf("its attribute %s is not a map", data)
	}
	return numbers, nil
}

// EventNumbers returns the numbers of a stored event that are rolled up, by field; nil for an event without data. Of the
// item it needs only the attribute data. It returns an error if the event can't be folded.
func EventNumbers(item dynamo.Item) (map[string]string, error) {
	value, hasData := item[data]
	if !hasData {
		return nil, nil
	}
	members, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("its attribute %s is not a map", data)
	}
	numbers := map[string]string{}
	for field, member := range members.Value {
		if n, ok := member.(*types.AttributeValueMemberN); ok {
			numbers[field] = n.Value
		}
	}
	return numbers, nil
}

// eventFolder folds events into the fragments of their rollups.
type eventFolder struct {
	*parts.Folder[parts.Rollup]
	retention time.Duration // 0 keeps them for ever
	now       func() time.Time
}

func newEventFolder(client Client, settings Settings, now func() time.Time) *eventFolder {
	store := parts.NewEvents(client, settings.RollupsTable, now)
	return &eventFolder{store.Folder(client), settings.RollupRetention, now}
}

// fold adds the records of a bucket that its fragment does not have yet.
func (f *eventFolder) fold(ctx context.Context, b *bucketChanges) error {
	return f.Fold(ctx, b.Key(), b.streamShard, f.expiry(b.End()), b.records)
}

// expiry returns when a fragment expires; the zero time is never. It is the retention after the later of the bucket's end
// and this fold, because a record may be redelivered for a day after its fold, and must find the fragment.
func (f *eventFolder) expiry(bucketEnd time.Time) time.Time {
	if f.retention == 0 {
		return time.Time{}
	}
	last := bucketEnd
	if now := f.now(); now.After(last) {
		last = now
	}
	return last.Add(f.retention)
}
