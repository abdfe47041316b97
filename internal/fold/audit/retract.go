package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Retracted is the outcome of Retract for the rollups of an entity's day.
type Retracted struct {
	Emptied int   // rollups
	Kept    int64 // events of the day written meanwhile
	// Mixed are rollups that may count both kept and deleted events. A repair with Options.Fewer
	// makes them right once they are at rest.
	Mixed []parts.Bucket
	// Faults has an error for each rollup that can't be read; an audit names what is wrong with it.
	Faults []string
	Left   string // why the other rollups were not emptied; "" if all is done
}

// Retract empties all rollups, by the hour and by the day, of an entity's day whose events were
// deleted. They were deleted on writeShards write shards, or on the shard map's number. If a
// rollup's time has events again, Retract audits the rollup instead. Retract may be called again.
//
// Stream markers prove that all earlier writes are folded. Then the rollups are read, and then the
// events. If there are no events, all that the rollups count is gone: a counted event was written
// before the rollups were read, so the later reading would find it. A later fold changes a
// fragment, which then isn't emptied, or it comes after that, fails its condition, and starts from
// zero. So each fragment may be emptied by itself. Its sequence number remains for 48 hours, as a
// guard against redelivered records.
func (a *Auditor) Retract(ctx context.Context, entity string, day time.Time, writeShards int) (r Retracted, err error) {
	d := &bucket{a.events, parts.Bucket{Entity: entity, Width: shard.Day, Start: day}, max(1, writeShards)}
	for round := range maxRounds {
		if round > 0 {
			if err := a.pause(ctx); err != nil {
				return r, err
			}
		}
		moved, err := d.retract(ctx, &r)
		if err != nil || !moved {
			return r, err
		}
	}
	r.Left = fmt.Sprintf("its rollups changed during each of %d attempts to empty them: try again later", maxRounds)
	return r, nil
}

// retract makes one attempt. moved means that a fold came meanwhile.
func (b *bucket) retract(ctx context.Context, r *Retracted) (moved bool, err error) {
	*r = Retracted{Emptied: r.Emptied}
	most, err := b.mostShards(ctx, schema.BaseKey{Type: kind.Event, Name: b.Entity})
	if err != nil {
		return false, err
	}
	places := make([]string, max(most, b.deleted))
	for n := range places {
		places[n] = placeOf(b.Bucket, n)
	}
	proof, err := b.marker.Around(ctx, b.Bucket, places)
	r.Left = proof.Missing
	if r.Left != "" || err != nil {
		return false, err
	}
	rollups, err := b.rollups(ctx, r)
	if err != nil {
		return false, err
	}
	there, err := b.readEvents(ctx)
	if err != nil {
		return false, err
	}
	r.Kept = there.sum.Events
	for of, read := range rollups {
		switch {
		case there.in(of) > 0:
			err = b.auditMixed(ctx, of, r)
		default:
			err = b.store.Empty(ctx, of.Key(), read, proof.Floors)
			if err == nil && slices.ContainsFunc(read, func(p parts.Part[measures.Part]) bool { return !p.Emptied() }) {
				r.Emptied++
			}
		}
		moved = moved || errors.Is(err, parts.ErrMoved)
		if err != nil && !errors.Is(err, parts.ErrMoved) {
			return false, err
		}
	}
	slices.SortFunc(r.Mixed, func(x, y parts.Bucket) int { return cmp.Or(x.Start.Compare(y.Start), cmp.Compare(x.Width, y.Width)) })
	return moved, nil
}

// auditMixed audits a rollup whose time has events again.
func (b *bucket) auditMixed(ctx context.Context, of parts.Bucket, r *Retracted) error {
	result, err := proved(ctx, b.tools, &bucket{b.events, of, b.deleted})
	if err == nil && len(result.Findings) > 0 {
		r.Mixed = append(r.Mixed, of)
	}
	return err
}

// in returns how many events began in a bucket's time.
func (e *happened) in(b parts.Bucket) (n int64) {
	for hour, events := range e.hours {
		if !hour.Before(b.Start) && hour.Before(b.End()) {
			n += events
		}
	}
	return n
}

// rollups returns the fragments of the day's rollups, in either width. It adds unreadable rollups
// to r.Faults.
func (b *bucket) rollups(ctx context.Context, r *Retracted) (map[parts.Bucket][]parts.Part[measures.Part], error) {
	pk := b.Key().Partitions[0]
	in := &dynamodb.QueryInput{
		TableName: &b.o.Names.Rollups, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("pk, sk"),
		KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :day)"),
		ExpressionAttributeValues: item{":pk": dynamo.String(pk), ":day": dynamo.String(b.Label())},
	}
	rollups := map[parts.Bucket][]parts.Part[measures.Part]{}
	for it, err := range dynamo.Items(ctx, b.client, in) {
		if err != nil {
			return nil, fmt.Errorf("reading the rollups %q: %w", pk, err)
		}
		if of, _, ok := parts.BucketOf(pk, dynamo.Text(it, schema.SK)); ok {
			rollups[of] = nil
		}
	}
	for of := range rollups {
		read, err := b.read(ctx, of)
		if err != nil && ofCall(err) {
			return nil, err
		}
		rollups[of] = read
		if err != nil {
			r.Faults = append(r.Faults, err.Error())
			delete(rollups, of)
		}
	}
	return rollups, nil
}
