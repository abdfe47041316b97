package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
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
// has, but for those in whose time events are there again. It may be called again, and
// does nothing where nothing is left to do.
//
// Marks prove that what was written before them is folded. Then the rollups are read,
// and then the events. Where there are none, all that the rollups count is gone: what
// they count was written before they were read, and would be found if it was there.
// What is folded later changes a part, which then isn't emptied, or comes after that,
// is refused, and goes on from nothing. So each part may be emptied by itself. What is
// left of it are the sequence numbers that guard it, for 48 hours.
//
// A rollup counts the events found and no others if those were there before the marks,
// too, and are as many as it has.
func (a *Auditor) Retract(ctx context.Context, entity string, day time.Time, writeShards int) (r Retracted, err error) {
	d := retraction{Auditor: a, day: parts.Bucket{Entity: entity, Width: shard.Day, Start: day}, writeShards: writeShards}
	emptied := 0
	for round := range maxRounds {
		if round > 0 {
			if err := a.pause(ctx); err != nil {
				return r, err
			}
		}
		r, err = d.once(ctx)
		emptied += r.Emptied
		r.Emptied = emptied
		if !errors.Is(err, parts.ErrMoved) {
			return r, err
		}
	}
	r.Left = fmt.Sprintf("its rollups changed each of %d times they were to be emptied: later", maxRounds)
	return r, nil
}

// retraction is the work on one day.
type retraction struct {
	*Auditor
	day         parts.Bucket
	writeShards int
}

func (d *retraction) once(ctx context.Context) (r Retracted, err error) {
	before, err := d.written(ctx)
	if err != nil {
		return r, err
	}
	places := make([]string, d.writeShards)
	for n := range places {
		places[n] = placeOf(d.day, n)
	}
	floors, why, err := d.settle(ctx, d.day, places)
	if r.Left = why; why != "" || err != nil {
		return r, err
	}
	rollups, err := d.rollups(ctx, &r)
	if err != nil {
		return r, err
	}
	now, err := d.written(ctx)
	if err != nil {
		return r, err
	}
	r.Kept = now.in(d.day).n
	for b, read := range rollups {
		there, counted := now.in(b), count(read, d.o.Now())
		switch {
		case there.n == 0:
			err = errors.Join(err, d.empty(ctx, b, read, floors, &r))
		case counted > 0 && (there != before.in(b) || counted != there.n):
			r.Mixed = append(r.Mixed, b)
		}
	}
	return r, err
}

// empty empties a rollup, if there is something in it.
func (d *retraction) empty(ctx context.Context, b parts.Bucket, read []parts.Part, floors map[string]string, r *Retracted) error {
	holds := false
	for _, p := range read {
		holds = holds || p.Holds()
	}
	if !holds {
		return nil
	}
	err := d.store.Empty(ctx, b, read, floors)
	if err == nil {
		r.Emptied++
	}
	return err
}

// count is how many events a rollup counts.
func count(read []parts.Part, now time.Time) (n int64) {
	for _, p := range read {
		if !p.Expired(now) {
			n += p.Events
		}
	}
	return n
}

// rollups reads those of the day, in either width, as far as they can be read.
func (d *retraction) rollups(ctx context.Context, r *Retracted) (map[parts.Bucket][]parts.Part, error) {
	pk, _ := schema.RollupKey(d.day.Entity, d.day.Width, d.day.Start, "")
	pages := dynamodb.NewQueryPaginator(d.client, &dynamodb.QueryInput{
		TableName: &d.o.Names.Rollups, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("sk"),
		KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :day)"),
		ExpressionAttributeValues: item{
			":pk":  &types.AttributeValueMemberS{Value: pk},
			":day": &types.AttributeValueMemberS{Value: shard.Day.Label(d.day.Start, 0)},
		},
	})
	rollups := map[parts.Bucket][]parts.Part{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the rollups %q: %w", pk, err)
		}
		for _, it := range page.Items {
			if width, start, _, err := schema.ParseRollupSortKey(attribute.TextOf(it, schema.SK)); err == nil {
				rollups[parts.Bucket{Entity: d.day.Entity, Width: width, Start: start}] = nil
			}
		}
	}
	for b := range rollups {
		read, err := d.store.Read(ctx, b)
		if err != nil && ofCall(err) {
			return nil, err
		}
		if rollups[b] = read; err != nil {
			r.Faults = append(r.Faults, err.Error())
			delete(rollups, b)
		}
	}
	return rollups, nil
}

// written are a day's events, by the hour.
type written map[time.Time]occurrences

// occurrences are events: how many, and a digest of which.
type occurrences struct {
	n      int64
	digest uint64
}

func (o occurrences) and(other occurrences) occurrences {
	return occurrences{o.n + other.n, o.digest + other.digest}
}

// in returns those of a bucket.
func (w written) in(b parts.Bucket) (all occurrences) {
	for hour, o := range w {
		if !hour.Before(b.Start) && hour.Before(b.End()) {
			all = all.and(o)
		}
	}
	return all
}

// written reads which events there are, on all write shards that there have been by now:
// a key may grow while it is deleted. What a rollup that was read before has counted was
// written before, when the shard map had its write shard.
func (d *retraction) written(ctx context.Context) (written, error) {
	entry, err := d.shards.Read(ctx, schema.BaseKey{Type: schema.Entity, Name: d.day.Entity}.String())
	if err != nil {
		return nil, fmt.Errorf("the shard map: %w", err)
	}
	d.writeShards = max(d.writeShards, entry.Most())
	all := written{}
	var mu sync.Mutex
	err = d.eachPlace(ctx, d.day, d.writeShards, func(ctx context.Context, pk string) error {
		return d.readPlace(ctx, d.day, pk, func(it item) {
			sk := attribute.TextOf(it, schema.SK)
			if at, _, err := schema.ParseEventSortKey(sk); err == nil {
				mu.Lock()
				defer mu.Unlock()
				hour := at.UTC().Truncate(time.Hour)
				all[hour] = all[hour].and(occurrences{1, digestOf(pk + "#" + sk)})
			}
		})
	})
	return all, err
}
