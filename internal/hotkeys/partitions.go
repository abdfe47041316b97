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
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/metrics"
)

const (
	// maxPages bounds the pages that one call describes, each with up to 100 stream shards.
	maxPages = 100

	// pagePause is the time between two pages. An account may call DescribeStream ten times a second.
	pagePause = 500 * time.Millisecond
)

// partialCount is a count of a stream's open stream shards up to one of them.
type partialCount struct {
	stream string
	after  *string // the last stream shard that was counted; nil for none
	open   int
}

// CountPartitions returns a function that counts the open stream shards of a table's stream. It equals the number of
// the table's partitions: each closed stream shard has an open child or was merged. It waits with pause between pages.
//
// A call reads at most 100 pages, and stops early if its context ends. It then returns 0, and the next call goes on
// after the last page. An error begins the count again. The function is not safe for concurrent use.
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
			if c.after = out.StreamDescription.LastEvaluatedShardId; c.after == nil {
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

// newestStream returns the ARN of a table's newest stream.
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
	countTime = 50 * time.Second // bounds a run's counts, within the function's timeout
	countWait = 50 * time.Second // at least, between two counts of one process; schedules are a bit early at times
	maxMissed = 4                // doublings of countWait after failures
)

// census stores the tables' numbers of partitions in the shard map. It is part of the layers task, so one process counts
// for all.
type census struct {
	settings Settings
	shards   Shards
	count    func(ctx context.Context, table string) (int, error) // returns 0 if the count goes on with the next call; may be nil

	mu     sync.Mutex           // held while it counts
	due    map[string]time.Time // by the name in the shard map
	failed map[string]int       // counts in a row
}

// counted is a table whose partitions are counted, and the name under which the shard map notes them.
type counted struct{ table, noted string }

// tables returns the tables whose partitions are counted: the adopted table, or all of hotshard's
// own. It returns none for another table without a shard map.
func (c *census) tables(j *journal) (all []counted) {
	switch {
	case c.settings.SourceMap != "":
		return []counted{{c.settings.SourceTable, c.settings.SourceTable}}
	case j.source.Own == "":
		return nil
	}
	for _, table := range kind.Tables() {
		all = append(all, counted{c.settings.names().Table(table), table})
	}
	return all
}

// update counts the partitions of hotshard's own tables, or of an adopted one, if a count is due. After failures it waits
// up to 16 times as long. It returns the metrics for the journal, which other parts of the task use meanwhile.
func (c *census) update(ctx context.Context, j *journal) (found []metrics.Datum) {
	if c.count == nil || c.settings.Control != growth.Act || !c.mu.TryLock() {
		return nil
	}
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for _, t := range c.tables(j) {
		now := j.now()
		if now.Before(c.due[t.noted]) {
			continue
		}
		n, err := c.count(ctx, t.table)
		if err == nil && n > 0 {
			found = append(found, datum(t.table, "StreamShards", float64(n), metrics.Count, now))
			err = c.shards.NotePartitions(ctx, t.noted, n, now)
		}
		if err != nil {
			c.due[t.noted], c.failed[t.noted] = now.Add(countWait<<c.failed[t.noted]), min(c.failed[t.noted]+1, maxMissed)
			j.WarnContext(ctx, "partitions not noted", "table", t.table, "partitions", n, "error", err)
			continue
		}
		c.due[t.noted], c.failed[t.noted] = now.Add(countWait), 0
	}
	return found
}
