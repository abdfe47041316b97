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

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/measures"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Retracted is what became of the rollups of an entity's day.
type Retracted struct {
	Emptied int   // rollups
	Kept    int64 // events of the day that were written meanwhile
	// Mixed are rollups that may count such events and deleted ones, too: a repair with
	// Options.Fewer makes them right once they are at rest.
	Mixed []parts.Bucket
	// Faults says why rollups can't be read; an audit names what is wrong with them.
	Faults []string
	Left   string // why nothing was done with those that are not emptied; "" for done
}

// Retract empties all rollups, by the hour and by the day, of an entity's day whose
// events were deleted on any of so many write shards, or of those that the shard map
// has, but for those in whose time events are there again, which it audits. It may be
// called again, and does nothing where nothing is left to do.
//
// Marks prove that what was written before them is folded. Then the rollups are read,
// and then the events. Where there are none, all that the rollups count is gone: what
// they count was written before they were read, and would be found if it was there.
// What is folded later changes a part, which then isn't emptied, or comes after that,
// is refused, and goes on from nothing. So each part may be emptied by itself. What is
// left of it are the sequence numbers that guard it, for 48 hours.
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
	r.Left = fmt.Sprintf("its rollups changed each of %d times they were to be emptied: later", maxRounds)
	return r, nil
}

// retract does it once; moved is that something was folded meanwhile.
func (b *bucket) retract(ctx context.Context, r *Retracted) (moved bool, err error) {
	*r = Retracted{Emptied: r.Emptied}
	most, err := b.mostShards(ctx, schema.BaseKey{Type: schema.Entity, Name: b.Entity})
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
		case slices.ContainsFunc(read, func(p parts.Part[measures.Part]) bool { return !p.Emptied() }):
			err = b.store.Empty(ctx, of.Key(), read, proof.Floors)
			if err == nil {
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

// auditMixed audits a rollup in whose time events are there again.
func (b *bucket) auditMixed(ctx context.Context, of parts.Bucket, r *Retracted) error {
	result, err := proved(ctx, b.tools, &bucket{b.events, of, b.deleted})
	if err == nil && len(result.Findings) > 0 {
		r.Mixed = append(r.Mixed, of)
	}
	return err
}

// in is how many events began in a bucket's time.
func (e *happened) in(b parts.Bucket) (n int64) {
	for hour, events := range e.hours {
		if !hour.Before(b.Start) && hour.Before(b.End()) {
			n += events
		}
	}
	return n
}

// rollups reads those of the day, in either width, as far as they can be read.
func (b *bucket) rollups(ctx context.Context, r *Retracted) (map[parts.Bucket][]parts.Part[measures.Part], error) {
	pk := b.Key().PK
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
