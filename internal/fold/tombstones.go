package fold

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// A tombstone is the rev, with value 0, that a counter's summary keeps of a removed write shard, so
// that no redelivered record brings its value back. It can be removed when no such record can arrive:
//
// The summary's gone attribute is the time of its last fold of a removal. All records of a write
// shard up to its removal were written before that fold, and a stream keeps a record for a day. So
// when gone is two days old, no record that a tombstone guards against can be redelivered.
//
// A write shard that exists may also have the value 0. So its item is read consistently. If the item is absent, the
// write shard's removal was folded last, or is still in the stream and then makes a new tombstone. The write shard may
// be created again after the read. If the record of this is folded before the tombstone is deleted, the delete's
// condition fails, because the rev has changed. If the record is folded later, it adds the new write shard. Containers
// may have cached the rev of a deleted tombstone. They then skip only older revs.

// tombstones is a partial of a counter's summary that may have tombstones.
type tombstones struct {
	schema.Target
	stored item
	dead   []int // write shards whose tombstones can be removed
	alive  int   // number of other write shards in the partial
}

// removable reports whether an item is a partial whose tombstones can be removed: its gone is older than restAge.
func (r *compaction) removable(pk string, it item) bool {
	k, _, _ := schema.CutKind(pk)
	gone, ok := dynamo.Millis(it, schema.Gone)
	return ok && r.now.Sub(gone) > restAge &&
		schema.TraitsOf(k).Summary == schema.PartialSummary && dynamo.Text(it, schema.SK) == schema.SoleSK
}

// removeTombstones removes a partial's tombstones, and the partial if it has nothing else. After a concurrent fold it
// leaves them to the next round.
func (r *compaction) removeTombstones(ctx context.Context, pk string) error {
	stored, err := dynamo.Get(ctx, r.client, r.table, pk, schema.SoleSK)
	if err != nil {
		return fmt.Errorf("reading the partial %q: %w", pk, err)
	}
	if !r.removable(pk, stored) {
		return nil // a concurrent fold has changed the partial
	}
	t, err := r.findTombstones(ctx, pk, stored)
	if err != nil {
		return err
	}
	err = r.deleteTombstones(ctx, pk, t)
	if _, changed := dynamo.ConditionFailed(err); changed {
		return nil
	}
	if err == nil {
		r.answer.Tombstones += len(t.dead)
	}
	return err
}

// findTombstones returns which of a partial's write shards no longer exist.
func (r *compaction) findTombstones(ctx context.Context, pk string, stored item) (*tombstones, error) {
	target, err := schema.ParseTarget(pk)
	if err != nil {
		return nil, err
	}
	if v := dynamo.Digits(stored, schema.Version); v != schema.SummaryVersion {
		return nil, fmt.Errorf("its version is %.20q, and this release knows %q only: deploy the release that wrote it", v, schema.SummaryVersion)
	}
	t := &tombstones{Target: target, stored: stored}
	for _, source := range schema.SourcesOf(stored) {
		isTombstone, err := r.isTombstone(ctx, t, source)
		if err != nil {
			return nil, err
		}
		if isTombstone {
			t.dead = append(t.dead, source)
		} else {
			t.alive++
		}
	}
	return t, nil
}

// isTombstone reports whether a partial's source is a tombstone: its value is 0, and its write shard is absent from the
// items table. Write shard 0 is never folded, and has no tombstone.
func (r *compaction) isTombstone(ctx context.Context, t *tombstones, source int) (bool, error) {
	rev, value := dynamo.Digits(t.stored, schema.RevAttr(source)), dynamo.Digits(t.stored, schema.ValueAttr(source))
	if source == 0 || rev == "" || value != "0" || source/schema.SourcesPerPartial != t.Partial {
		return false, nil
	}
	pk, sk := schema.CounterKey(t.Base.Name, source)
	it, err := dynamo.Get(ctx, r.client, r.items, pk, sk)
	if err != nil {
		return false, fmt.Errorf("reading write shard %q: %w", pk, err)
	}
	return len(it) == 0, nil
}

// deleteTombstones removes the tombstones and the attribute "gone" of a partial, if they are as they were read. The
// attribute is no longer needed: no other tombstone is left, since the remaining write shards of value 0 exist.
//
// It deletes a partial that has only tombstones, on the condition that no fold has added any other write shard that the
// partial may have.
func (r *compaction) deleteTombstones(ctx context.Context, pk string, t *tombstones) error {
	attributes := []string{schema.Gone}
	for _, source := range t.dead {
		attributes = append(attributes, schema.RevAttr(source), schema.ValueAttr(source))
	}
	var err error
	if t.alive > 0 {
		condition, names, values := dynamo.UnchangedCondition(t.stored, attributes...)
		_, err = r.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &r.table, Key: dynamo.Key(pk, schema.SoleSK),
			UpdateExpression: aws.String("REMOVE " + strings.Join(attributes, ", ")), ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		})
	} else {
		first := t.Partial * schema.SourcesPerPartial
		for source := first; source < first+schema.SourcesPerPartial; source++ {
			if !slices.Contains(t.dead, source) {
				attributes = append(attributes, schema.RevAttr(source))
			}
		}
		condition, names, values := dynamo.UnchangedCondition(t.stored, attributes...)
		_, err = r.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &r.table, Key: dynamo.Key(pk, schema.SoleSK), ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		})
	}
	if err != nil {
		return fmt.Errorf("removing tombstones of the partial %q: %w", pk, err)
	}
	return nil
}
