package compact

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// A tombstone is the rev, with value 0, that a counter's summary keeps of a write
// shard that was removed, lest a record of its past that comes again brings its
// value back. It may go when no such record can come any more:
//
// The summary's gone is the time of its last fold of a removal. All records of a
// write shard up to its removal were written before that was folded, and a stream
// keeps a record for a day. So when gone is two days old none of those that a
// tombstone guards against is left to be delivered again.
//
// Value 0 may also be that of a write shard that is there. So its item is read,
// consistently: if it is absent, what was folded last was its removal, or a removal
// is still to come through the stream, which then makes a new tombstone. If it is
// made again after that read, its record either comes before the update, which is
// refused since the rev has changed, or after it, when it is folded as that of a new
// write shard. Containers may remember the rev of a tombstone that is gone, which
// only spares them the update for older revs.

// tombstones is a partial of a counter's summary that may have some.
type tombstones struct {
	counter string
	partial int
	stored  item
	dead    []int // write shards whose tombstone may go
	alive   int   // other write shards in it
}

// buries tells whether a summary has tombstones that may go.
func (r *run) buries(pk string, it item) bool {
	gone, ok := dynamo.Millis(it, schema.Gone)
	return ok && r.options.ItemsTable != "" && r.now.Sub(gone) > rest &&
		strings.HasPrefix(pk, schema.BaseKey{Type: schema.Counter}.String()) && dynamo.Text(it, schema.SK) == schema.SoleSK
}

// bury removes the tombstones of a partial, and the partial if nothing else is in it.
// One into which something is folded meanwhile is left for the next round.
func (r *run) bury(ctx context.Context, pk string) error {
	out, err := r.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &r.options.RollupsTable, ConsistentRead: aws.Bool(true), Key: dynamo.Key(pk, schema.SoleSK),
	})
	if err != nil {
		return fmt.Errorf("reading it: %w", err)
	}
	if !r.buries(pk, out.Item) {
		return nil // a fold came before
	}
	t, err := r.examine(ctx, pk, out.Item)
	if err != nil {
		return err
	}
	if t.alive == 0 {
		err = r.remove(ctx, pk, t)
	} else {
		err = r.clear(ctx, pk, t)
	}
	if _, changed := dynamo.ConditionFailed(err); changed {
		return nil
	}
	if err == nil {
		r.answer.Tombstones += len(t.dead)
	}
	return err
}

// examine finds out which of a partial's write shards are no longer there.
func (r *run) examine(ctx context.Context, pk string, stored item) (*tombstones, error) {
	base, n, err := shard.Hash.Split(pk)
	if err != nil {
		return nil, err
	}
	key, err := schema.ParseBaseKey(base)
	if err != nil {
		return nil, err
	}
	if v := dynamo.Digits(stored, schema.Version); v != schema.SummaryVersion {
		return nil, fmt.Errorf("it has version %.20q, and %s can be read", v, schema.SummaryVersion)
	}
	t := &tombstones{counter: key.Name, partial: n, stored: stored}
	for _, source := range schema.SourcesOf(stored) {
		gone, err := r.gone(ctx, t, source)
		if err != nil {
			return nil, err
		}
		if gone {
			t.dead = append(t.dead, source)
		} else {
			t.alive++
		}
	}
	return t, nil
}

// gone tells whether a write shard of value 0 is not in the items table.
func (r *run) gone(ctx context.Context, t *tombstones, source int) (bool, error) {
	rev, value := dynamo.Digits(t.stored, schema.RevAttr(source)), dynamo.Digits(t.stored, schema.ValueAttr(source))
	if rev == "" || value != "0" || source/schema.SourcesPerPartial != t.partial {
		return false, nil
	}
	pk := schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: t.counter}, Shard: source}.String()
	out, err := r.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &r.options.ItemsTable, ConsistentRead: aws.Bool(true), Key: dynamo.Key(pk, schema.SoleSK),
		ProjectionExpression: aws.String(schema.PK),
	})
	if err != nil {
		return false, fmt.Errorf("reading write shard %q: %w", pk, err)
	}
	return len(out.Item) == 0, nil
}

// clear takes the tombstones out of a partial. All write shards of value 0 that are
// left were there, so no tombstone is: gone goes too, on condition that no fold made
// one meanwhile.
func (r *run) clear(ctx context.Context, pk string, t *tombstones) error {
	conditions, values := t.unchanged()
	remove := []string{schema.Gone}
	for _, source := range t.dead {
		remove = append(remove, schema.RevAttr(source), schema.ValueAttr(source))
	}
	_, err := r.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &r.options.RollupsTable, Key: dynamo.Key(pk, schema.SoleSK),
		UpdateExpression:          aws.String("REMOVE " + strings.Join(remove, ", ")),
		ConditionExpression:       aws.String(strings.Join(conditions, " AND ")),
		ExpressionAttributeValues: values,
	})
	if err != nil {
		return fmt.Errorf("removing tombstones: %w", err)
	}
	return nil
}

// remove deletes a partial that has tombstones only. A fold may add any of its write
// shards at any time, so the condition names all that it could have.
func (r *run) remove(ctx context.Context, pk string, t *tombstones) error {
	conditions, values := t.unchanged()
	first := t.partial * schema.SourcesPerPartial
	for source := first; source < first+schema.SourcesPerPartial; source++ {
		if _, dead := slices.BinarySearch(t.dead, source); !dead {
			conditions = append(conditions, "attribute_not_exists("+schema.RevAttr(source)+")")
		}
	}
	_, err := r.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &r.options.RollupsTable, Key: dynamo.Key(pk, schema.SoleSK),
		ConditionExpression:       aws.String(strings.Join(conditions, " AND ")),
		ExpressionAttributeValues: values,
	})
	if err != nil {
		return fmt.Errorf("deleting what has tombstones only: %w", err)
	}
	return nil
}

// unchanged is the condition that the tombstones are as they were read.
func (t *tombstones) unchanged() (conditions []string, values item) {
	conditions, values = []string{"gone = :gone"}, item{":gone": t.stored[schema.Gone]}
	for _, source := range t.dead {
		rev, value := schema.RevAttr(source), schema.ValueAttr(source)
		conditions = append(conditions, rev+" = :"+rev, value+" = :zero")
		values[":"+rev], values[":zero"] = t.stored[rev], dynamo.Number(0)
	}
	return conditions, values
}
