package hotkeys

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/schema"
)

const (
	// maxPages bounds the pages that one call describes, each with up to 100 stream shards.
	maxPages = 100

	// pagePause is the time between two pages. An account may call DescribeStream ten times a second.
	pagePause = 500 * time.Millisecond
)

// partialCount is the number of open shards in the pages of a stream that were read.
type partialCount struct {
	stream string
	after  *string // the last stream shard that was counted; nil for none
	open   int
}

// CountPartitions returns a function that counts the open stream shards of a table's stream, which is the number of the
// table's partitions. It calls pause between two pages.
//
// A call reads at most 100 pages, and stops early if its context ends. It then returns 0, and the next call continues
// after the last page. After an error the next call starts again. The function is not safe for concurrent use.
func CountPartitions(client StreamDescriber, pause func(context.Context, time.Duration) bool) func(ctx context.Context, table string) (int, error) {
	partial := map[string]partialCount{} // by table
	return func(ctx context.Context, table string) (int, error) {
		stream, err := newestStream(ctx, client, table)
		if err != nil {
			return 0, err
		}
		c := partial[table]
		delete(partial, table)
		if c.stream != stream {
			c = partialCount{stream: stream}
		}
		for range maxPages {
			out, err := client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &stream, ExclusiveStartShardId: c.after})
			if err != nil {
				return 0, fmt.Errorf("hotkeys: describing stream %s: %w", stream, err)
			}
			if out.StreamDescription == nil {
				return 0, fmt.Errorf("hotkeys: the description of stream %s is empty", stream)
			}
			for _, s := range out.StreamDescription.Shards {
				if s.SequenceNumberRange == nil || s.SequenceNumberRange.EndingSequenceNumber == nil {
					c.open++
				}
			}
			c.after = out.StreamDescription.LastEvaluatedShardId
			if c.after == nil {
				return c.open, nil
			}
			if !pause(ctx, pagePause) {
				break
			}
		}
		partial[table] = c
		return 0, nil
	}
}

func newestStream(ctx context.Context, client StreamDescriber, table string) (string, error) {
	out, err := client.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &table})
	if err != nil {
		return "", fmt.Errorf("hotkeys: listing the streams of table %s: %w", table, err)
	}
	if len(out.Streams) == 0 {
		return "", fmt.Errorf("hotkeys: table %s has no stream", table)
	}
	newest := slices.MaxFunc(out.Streams, func(a, b types.Stream) int {
		return strings.Compare(aws.ToString(a.StreamLabel), aws.ToString(b.StreamLabel))
	})
	return aws.ToString(newest.StreamArn), nil
}

const (
	countTime   = 50 * time.Second // bounds a run's counts, within the function's timeout
	countWait   = 50 * time.Second // shortest time between two counts; below a minute, because a schedule may fire early
	maxDoubling = 4                // how often failures double countWait
)

// partitionCounter stores the tables' numbers of partitions in the shard map. It is part of the heat task, so one
// process counts for all.
type partitionCounter struct {
	settings Settings
	shards   Shards
	count    func(ctx context.Context, table string) (int, error) // see [CountPartitions]; may be nil

	mu       sync.Mutex           // locked while it counts
	next     map[string]time.Time // earliest time of the next count, by the name in the shard map
	failures map[string]int       // failed counts in a row, up to maxDoubling
}

// countedTable is a table whose partitions are counted, and its name in the shard map.
type countedTable struct{ name, inMap string }

// tables returns the tables whose partitions are counted: hotshard's own.
func (c *partitionCounter) tables(j *journal) (all []countedTable) {
	if j.source.Own == "" {
		return nil
	}
	for _, table := range schema.StreamTables() {
		all = append(all, countedTable{c.settings.names().Table(table), table})
	}
	return all
}

// update counts the partitions of each table whose next count is due. After failures it waits up to 16 times as long.
// It returns the metrics and does not add them to the journal, which other goroutines use meanwhile.
func (c *partitionCounter) update(ctx context.Context, j *journal) (found []Datum) {
	if c.count == nil || c.settings.Control != growth.Act || !c.mu.TryLock() {
		return nil
	}
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for _, t := range c.tables(j) {
		now := j.now()
		if now.Before(c.next[t.inMap]) {
			continue
		}
		n, err := c.count(ctx, t.name)
		if err == nil && n > 0 {
			found = append(found, tableMetric(t.name, "StreamShards", float64(n), UnitCount, now))
			err = c.shards.NotePartitions(ctx, t.inMap, n, now)
		}
		if err != nil {
			c.next[t.inMap] = now.Add(countWait << c.failures[t.inMap])
			c.failures[t.inMap] = min(c.failures[t.inMap]+1, maxDoubling)
			j.WarnContext(ctx, "partitions not noted", "table", t.name, "partitions", n, "error", err)
			continue
		}
		c.next[t.inMap], c.failures[t.inMap] = now.Add(countWait), 0
	}
	return found
}
