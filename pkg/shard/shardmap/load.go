package shardmap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// mapLoad is the progress of reading all keys. A load that fails or times out continues
// where it stopped.
//
// A key may change after its bucket was read. The log has that change, and is read after all
// buckets, from before the first of them was read. So it makes no difference whether this
// process reads a bucket's keys, or their snapshot, which another process stored.
type mapLoad struct {
	begun time.Time
	view  *view
	parts []*dynamodb.QueryInput // what is left to read, by bucket; nil for a bucket that is complete
	since []time.Time            // by bucket, the time since which the log has its changes
}

// maxLoadTime bounds the age of a load: an older one starts over.
const maxLoadTime = 10 * time.Minute

// seenOfKeys names the attributes of keys' items that a view reads.
const seenOfKeys = "sk, version, shard_history, max_shards, last_updated, pinned, forgotten, deleted"

func (m *Map) newLoad(now time.Time) *mapLoad {
	l := &mapLoad{begun: now, view: newView(m.maxKeys), parts: m.partQueries(), since: slices.Repeat([]time.Time{now}, schema.MapParts)}
	for _, part := range l.parts {
		part.ProjectionExpression = aws.String(seenOfKeys)
	}
	return l
}

// partQueries returns the queries that read all keys.
func (s *stored) partQueries() (list []*dynamodb.QueryInput) {
	for n := range schema.MapParts {
		list = append(list, &dynamodb.QueryInput{
			TableName: &s.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :part"),
			ExpressionAttributeValues: dynamo.Item{":part": dynamo.String(schema.MapPart(n))},
		})
	}
	return list
}

// load reads all keys, then the log's changes since, and returns the view. Only renewals call it.
func (m *Map) load(ctx context.Context, now time.Time) (*view, error) {
	l := m.loading
	if l == nil || now.Sub(l.begun).Abs() > maxLoadTime {
		l = m.newLoad(now)
		m.loading = l
	}
	if err := m.readParts(ctx, l, m.times.reload); err != nil {
		return nil, fmt.Errorf("reading the shard map: %w", err)
	}
	if err := m.followLog(ctx, l.view, slices.MinFunc(l.since, time.Time.Compare).Add(-m.times.loadBack)); err != nil {
		return nil, err
	}
	m.loading, l.view.lookedBack = nil, now
	return l.view, nil
}

// readParts reads the buckets that are left of a load, in parallel. It uses snapshots that are at
// most maxAge old.
func (s *stored) readParts(ctx context.Context, l *mapLoad, maxAge time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	for n, input := range l.parts {
		if input != nil {
			group.Go(func() error { return s.readPart(ctx, l, n, maxAge) })
		}
	}
	return group.Wait()
}

// readPart reads one bucket, from its snapshot if possible, and else from its keys' items.
func (s *stored) readPart(ctx context.Context, l *mapLoad, n int, maxAge time.Duration) error {
	input := l.parts[n]
	if input.ExclusiveStartKey == nil {
		entries, taken, err := s.readSnapshot(ctx, n, l.begun, maxAge)
		if err == nil {
			for _, e := range entries {
				l.view.mergeEntry(e)
			}
			l.parts[n], l.since[n] = nil, taken
			return nil
		}
		if !errors.Is(err, errNoSnapshot) {
			return err
		}
	}
	for page, err := range dynamo.Pages(ctx, s.patient(pageTime), input) {
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			if key, ok := ownKey(n, it); ok {
				l.view.mergeEntry(readEntry(key, it))
			}
		}
		input.ExclusiveStartKey = page.LastEvaluatedKey
	}
	l.parts[n] = nil
	return nil
}

// ownKey returns the base key of an item of a bucket; ok is false for an item that hotshard
// did not write.
func ownKey(part int, it dynamo.Item) (key string, ok bool) {
	key = dynamo.Text(it, schema.SK)
	pk, _ := schema.MapKey(key)
	return key, pk == schema.MapPart(part)
}

// Entries reads all entries from the table, in no order, not from the view. It leaves out
// unreadable entries and deleted keys. If a read fails, it returns an error of kind ErrStale.
func (s *stored) Entries(ctx context.Context) ([]Entry, error) {
	found := make([][]Entry, schema.MapParts)
	group, ctx := errgroup.WithContext(ctx)
	for n, input := range s.partQueries() {
		group.Go(func() error {
			for it, err := range dynamo.Items(ctx, s.patient(pageTime), input) {
				if err != nil {
					return err
				}
				key, ok := ownKey(n, it)
				if e := readEntry(key, it); ok && e.fault == nil && !e.gone {
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
