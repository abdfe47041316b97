package shardmap

import (
	"context"
	"errors"
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

// mapLoad is the progress of reading all keys. A load that fails or times out is continued where it
// stopped.
//
// A key may change after its bucket was read. The log has that change: it is read after all buckets,
// from a time before the first of them was read. So a bucket may also be read from a snapshot, which
// another process stored earlier.
type mapLoad struct {
	begun   time.Time
	view    *view
	queries []*dynamodb.QueryInput // the rest to read, by bucket; nil for a complete bucket
	since   []time.Time            // by bucket, the time from which the log has its changes
}

// maxLoadTime bounds the age of a load. An older load starts over.
const maxLoadTime = 10 * time.Minute

// viewAttributes are the attributes of keys' items that a view reads.
const viewAttributes = "sk, version, shard_history, max_shards, last_updated, pinned, forgotten, deleted"

func (m *Map) newLoad(now time.Time) *mapLoad {
	return &mapLoad{begun: now, view: &view{keys: map[string]Entry{}}, queries: m.bucketQueries(aws.String(viewAttributes)), since: slices.Repeat([]time.Time{now}, schema.MapParts)}
}

// bucketQueries returns a query of each bucket's items, for the attributes; nil reads all.
func (s *stored) bucketQueries(attributes *string) (list []*dynamodb.QueryInput) {
	for n := range schema.MapParts {
		list = append(list, &dynamodb.QueryInput{
			TableName: &s.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :part"),
			ExpressionAttributeValues: dynamo.Item{":part": dynamo.String(schema.MapPart(n))}, ProjectionExpression: attributes,
		})
	}
	return list
}

// bucketEntries yields the entries of a bucket's keys, also unreadable ones. It ignores items that hotshard
// did not write. After each page it sets the query's ExclusiveStartKey.
func (s *stored) bucketEntries(ctx context.Context, n int, query *dynamodb.QueryInput) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for page, err := range dynamo.Pages(ctx, s.persistent(pageTime), query) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, it := range page.Items {
				key := dynamo.Text(it, schema.SK)
				if pk, _ := schema.MapKey(key); pk == schema.MapPart(n) && !yield(readEntry(key, it), nil) {
					return
				}
			}
			query.ExclusiveStartKey = page.LastEvaluatedKey
		}
	}
}

// load returns a new view: it reads all keys, and then the changes in the log since. Only renewals call
// it.
func (m *Map) load(ctx context.Context, now time.Time) (*view, error) {
	l := m.loading
	if l == nil || now.Sub(l.begun).Abs() > maxLoadTime {
		l = m.newLoad(now)
		m.loading = l
	}
	if err := m.readBuckets(ctx, l, reload); err != nil {
		return nil, fmt.Errorf("reading the shard map: %w", err)
	}
	if err := m.followLog(ctx, l.view, slices.MinFunc(l.since, time.Time.Compare).Add(-loadBack)); err != nil {
		return nil, err
	}
	m.loading, l.view.lookedBack = nil, now
	return l.view, nil
}

// readBuckets reads the buckets that a load has not yet read, in parallel. It uses snapshots that are at
// most maxAge old.
func (s *stored) readBuckets(ctx context.Context, l *mapLoad, maxAge time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	for n, input := range l.queries {
		if input != nil {
			group.Go(func() error { return s.readBucket(ctx, l, n, maxAge) })
		}
	}
	return group.Wait()
}

// readBucket reads one bucket, from its snapshot if there is one, or from its keys' items. After a failed page
// it continues with the items.
func (s *stored) readBucket(ctx context.Context, l *mapLoad, n int, maxAge time.Duration) error {
	input := l.queries[n]
	if input.ExclusiveStartKey == nil {
		entries, taken, err := s.readSnapshot(ctx, n, l.begun, maxAge)
		if err == nil {
			for _, e := range entries {
				l.view.mergeEntry(e)
			}
			l.queries[n], l.since[n] = nil, taken
			return nil
		}
		if !errors.Is(err, errNoSnapshot) {
			return err
		}
	}
	for e, err := range s.bucketEntries(ctx, n, input) {
		if err != nil {
			return err
		}
		l.view.mergeEntry(e)
	}
	l.queries[n] = nil
	return nil
}

// Entries reads all entries from the table, in no order, not from the view. It leaves out
// unreadable entries and deleted keys. If a read fails, it returns an error that wraps ErrStale.
func (s *stored) Entries(ctx context.Context) ([]Entry, error) {
	found := make([][]Entry, schema.MapParts)
	group, ctx := errgroup.WithContext(ctx)
	for n, input := range s.bucketQueries(nil) {
		group.Go(func() error {
			for e, err := range s.bucketEntries(ctx, n, input) {
				if err != nil {
					return err
				}
				if e.fault == nil && !e.deleted && !isPartitionCount(e.Key) {
					found[n] = append(found[n], e)
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
