package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/partial"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Retract empties all rollups, by the hour and by the day, of an entity's day whose
// events were deleted. Marks prove that what was written on any of so many write
// shards is folded, so that no event that is gone can be added later; what is left of
// a rollup are the sequence numbers that guard it, for 48 hours.
//
// left says why it was not done: events are there again, or the marks did not come
// through. It may be called again, and does nothing where nothing is left to do.
func (a *Auditor) Retract(ctx context.Context, entity string, day time.Time, writeShards int) (emptied int, left string, err error) {
	b := parts.Bucket{Entity: entity, Width: shard.Day, Start: day}
	for round := range maxRounds {
		if round > 0 {
			if err := a.pause(ctx); err != nil {
				return emptied, "", err
			}
		}
		n, why, err := a.retractOnce(ctx, b, writeShards)
		emptied += n
		if !errors.Is(err, parts.ErrMoved) {
			return emptied, why, err
		}
	}
	return emptied, fmt.Sprintf("its rollups changed each of %d times they were to be emptied", maxRounds), nil
}

func (a *Auditor) retractOnce(ctx context.Context, b parts.Bucket, writeShards int) (emptied int, left string, err error) {
	places := make([]string, writeShards)
	for n := range places {
		places[n] = placeOf(b, n)
	}
	floors, why, err := a.settle(ctx, b, places)
	if why != "" || err != nil {
		return 0, why, err
	}
	// What was written before the last mark may be at or below the floors, and is there
	// to be read.
	found, err := a.readEvents(ctx, b, writeShards)
	if err != nil {
		return 0, "", err
	}
	if n := found.sum.Events + int64(found.unreadable); n > 0 {
		return 0, fmt.Sprintf("%d events were written meanwhile", n), nil
	}
	buckets, err := a.bucketsOf(ctx, b)
	if err != nil {
		return 0, "", err
	}
	for bucket := range buckets {
		done, err := a.emptyBucket(ctx, bucket, floors)
		if err != nil {
			return emptied, "", err
		}
		if done {
			emptied++
		}
	}
	return emptied, "", nil
}

// bucketsOf finds the rollups of a day, in either width.
func (a *Auditor) bucketsOf(ctx context.Context, b parts.Bucket) (map[parts.Bucket]bool, error) {
	pk, _ := schema.RollupKey(b.Entity, b.Width, b.Start, "")
	pages := dynamodb.NewQueryPaginator(a.client, &dynamodb.QueryInput{
		TableName: &a.o.Names.Rollups, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("sk"),
		KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :day)"),
		ExpressionAttributeValues: item{
			":pk":  &types.AttributeValueMemberS{Value: pk},
			":day": &types.AttributeValueMemberS{Value: shard.Day.Label(b.Start, 0)},
		},
	})
	buckets := map[parts.Bucket]bool{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the rollups %q: %w", pk, err)
		}
		for _, it := range page.Items {
			if width, start, _, err := schema.ParseRollupSortKey(text(it, schema.SK)); err == nil {
				buckets[parts.Bucket{Entity: b.Entity, Width: width, Start: start}] = true
			}
		}
	}
	return buckets, nil
}

// emptyBucket leaves nothing of a rollup but its sequence numbers, if there is more.
func (a *Auditor) emptyBucket(ctx context.Context, b parts.Bucket, floors map[string]string) (done bool, err error) {
	read, err := a.store.Read(ctx, b)
	if err != nil {
		return false, err
	}
	for _, p := range read {
		done = done || p.Holds()
	}
	if !done {
		return false, nil
	}
	_, err = a.store.Replace(ctx, b, read, partial.Partial{}, floors)
	return err == nil, err
}
