package shardmap

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// mapLoad is the progress of reading all keys. If a load fails or times out, the next renewal continues it.
//
// A key may change after its bucket was read. A load also gets that change, since it reads the log after all buckets,
// from a time before the first bucket was read. So a bucket may also be read from a snapshot, which
// another process stored earlier.
type mapLoad struct {
	begun   time.Time
	view    *view
	queries []*dynamodb.QueryInput // by bucket, the query of what is left to read; nil for a complete bucket
	logFrom []time.Time            // by bucket, the time from which the log has its changes
}

// maxLoadTime bounds the age of a load. An older load starts over.
const maxLoadTime = 10 * time.Minute

// viewAttributes are the attributes of keys' items that a view reads.
const viewAttributes = "sk, version, shard_history, max_shards, last_updated, pinned, forgotten, deleted"

func (m *Map) newLoad(now time.Time) *mapLoad {
	return &mapLoad{
		begun: now, view: &view{keys: map[string]Entry{}},
		queries: m.bucketQueries(aws.String(viewAttributes)), logFrom: slices.Repeat([]time.Time{now}, schema.MapBuckets),
	}
}

// bucketQueries returns a query of each bucket's items. The queries read the attributes in this projection expression,
// or all attributes if it is nil.
func (s *tableReader) bucketQueries(attributes *string) (list []*dynamodb.QueryInput) {
	for n := range schema.MapBuckets {
		list = append(list, &dynamodb.QueryInput{
			TableName: &s.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :part"),
			ExpressionAttributeValues: dynamo.Item{":part": dynamo.String(schema.MapBucket(n))}, ProjectionExpression: attributes,
		})
	}
	return list
}

// bucketEntries yields the entries of a bucket's keys, also unreadable ones. It ignores items that hotshard
// did not write. After each page it sets the query's ExclusiveStartKey, so that the query can be continued.
func (s *tableReader) bucketEntries(ctx context.Context, bucket int, query *dynamodb.QueryInput) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for page, err := range dynamo.Pages(ctx, s.persistent(pageTime), query) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, it := range page.Items {
				key := dynamo.Text(it, schema.SK)
				if pk, _ := schema.MapKey(key); pk == schema.MapBucket(bucket) && !yield(readEntry(key, it), nil) {
					return
				}
			}
			query.ExclusiveStartKey = page.LastEvaluatedKey
		}
	}
}

// load returns a new view of all keys. It continues an unfinished load that is at most maxLoadTime old. Callers must not
// call it concurrently.
func (m *Map) load(ctx context.Context, now time.Time) (*view, error) {
	if m.loading == nil || now.Sub(m.loading.begun).Abs() > maxLoadTime {
		m.loading = m.newLoad(now)
	}
	l := m.loading
	if err := m.readBuckets(ctx, l, reload); err != nil {
		return nil, fmt.Errorf("reading the shard map: %w", err)
	}
	if err := m.followLog(ctx, l.view, slices.MinFunc(l.logFrom, time.Time.Compare).Add(-loadBack)); err != nil {
		return nil, err
	}
	m.loading, l.view.lookedBack = nil, now
	return l.view, nil
}

// readBuckets reads the buckets that a load has not yet read, in parallel. It uses snapshots that are at
// most maxAge old.
func (s *tableReader) readBuckets(ctx context.Context, l *mapLoad, maxAge time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	for bucket, query := range l.queries {
		if query != nil {
			group.Go(func() error { return s.readBucket(ctx, l, bucket, maxAge) })
		}
	}
	return group.Wait()
}

// readBucket reads one bucket, from its snapshot if there is a usable one, else from its keys' items. If an earlier
// attempt has read some pages of items, readBucket reads the other pages.
func (s *tableReader) readBucket(ctx context.Context, l *mapLoad, bucket int, maxAge time.Duration) error {
	query := l.queries[bucket]
	if query.ExclusiveStartKey == nil {
		entries, taken, usable, err := s.readSnapshot(ctx, bucket, l.begun, maxAge)
		if err != nil {
			return err
		}
		if usable {
			for _, e := range entries {
				l.view.mergeEntry(e)
			}
			l.queries[bucket], l.logFrom[bucket] = nil, taken
			return nil
		}
	}
	for e, err := range s.bucketEntries(ctx, bucket, query) {
		if err != nil {
			return err
		}
		l.view.mergeEntry(e)
	}
	l.queries[bucket] = nil
	return nil
}

// Entries returns all entries, read from the table and not from the view, in no order. It leaves out
// unreadable entries and deleted keys. If a read fails, Entries returns an error that wraps ErrStale.
func (s *tableReader) Entries(ctx context.Context) ([]Entry, error) {
	if err := dynamo.CheckClient(s.client); err != nil {
		return nil, err
	}
	found := make([][]Entry, schema.MapBuckets)
	group, ctx := errgroup.WithContext(ctx)
	for bucket, query := range s.bucketQueries(nil) {
		group.Go(func() error {
			for e, err := range s.bucketEntries(ctx, bucket, query) {
				if err != nil {
					return err
				}
				if e.fault == nil && !e.deleted && !isPartitionCount(e.Key) {
					found[bucket] = append(found[bucket], e)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %w", shard.ErrStale, err)
	}
	return slices.Concat(found...), nil
}
