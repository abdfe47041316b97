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
	// maxPages bounds the pages of a count, each with up to 100 stream shards. They suffice for 1,400 partitions, since a
	// stream also lists the stream shards that were closed within a day.
	maxPages = 100

	// pagePause is the time between two pages. An account may call DescribeStream ten times a second.
	pagePause = 200 * time.Millisecond
)

// CountPartitions returns a function that counts the open stream shards of a table's stream, which is the number of the
// table's partitions. It calls pause between two pages. A stream with more than [maxPages] is an error.
func CountPartitions(client StreamDescriber, pause func(context.Context, time.Duration) bool) func(ctx context.Context, table string) (int, error) {
	return func(ctx context.Context, table string) (open int, err error) {
		stream, err := newestStream(ctx, client, table)
		if err != nil {
			return 0, err
		}
		in := &dynamodbstreams.DescribeStreamInput{StreamArn: &stream}
		for range maxPages {
			out, err := client.DescribeStream(ctx, in)
			if err != nil {
				return 0, fmt.Errorf("hotkeys: describing stream %s: %w", stream, err)
			}
			if out.StreamDescription == nil {
				return 0, fmt.Errorf("hotkeys: the description of stream %s is empty", stream)
			}
			for _, s := range out.StreamDescription.Shards {
				if s.SequenceNumberRange == nil || s.SequenceNumberRange.EndingSequenceNumber == nil {
					open++
				}
			}
			in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
			if in.ExclusiveStartShardId == nil {
				return open, nil
			}
			if !pause(ctx, pagePause) {
				return 0, fmt.Errorf("hotkeys: no time to describe the rest of stream %s: %w", stream, ctx.Err())
			}
		}
		return 0, fmt.Errorf("hotkeys: stream %s has more than %d pages of stream shards, too many to count", stream, maxPages)
	}
}

// newestStream returns the ARN of the table's newest stream. A table may also have a disabled stream for a day.
func newestStream(ctx context.Context, client StreamDescriber, table string) (string, error) {
	out, err := client.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &table})
	if err != nil {
		return "", fmt.Errorf("hotkeys: listing the streams of table %s: %w", table, err)
	}
	if len(out.Streams) == 0 {
		return "", fmt.Errorf("hotkeys: table %s has no stream: enable one with the view type NEW_AND_OLD_IMAGES", table)
	}
	newest := slices.MaxFunc(out.Streams, func(a, b types.Stream) int {
		return strings.Compare(aws.ToString(a.StreamLabel), aws.ToString(b.StreamLabel))
	})
	return aws.ToString(newest.StreamArn), nil
}

const (
	countTime = 25 * time.Second // bounds the count of one table, within the function's timeout
	countWait = 50 * time.Second // shortest time between two counts; below a minute, because a schedule may fire early
)

// partitionCounter stores the tables' numbers of partitions in the shard map. It is part of the heat task, so one process
// counts for all processes.
type partitionCounter struct {
	settings Settings
	shards   Shards
	count    func(ctx context.Context, table string) (int, error) // see [CountPartitions]; may be nil

	mu   sync.Mutex // locked while countIfDue counts
	next time.Time  // earliest time of the next count
}

// countIfDue counts the partitions of hotshard's own tables if a count is due. It counts nothing if the detector changes no
// shard counts, or watches another table. It returns the metrics and does not add them to the journal, which other
// goroutines use meanwhile.
func (c *partitionCounter) countIfDue(ctx context.Context, j *journal) (metrics []Datum) {
	if c.count == nil || c.settings.Control != growth.Act || j.source.Own == "" {
		return nil
	}
	if !c.mu.TryLock() { // another call counts
		return nil
	}
	defer c.mu.Unlock()
	now := j.now()
	if now.Before(c.next) {
		return nil
	}
	c.next = now.Add(countWait)
	for _, table := range schema.StreamTables() {
		name := c.settings.names().Table(table)
		n, err := c.countTable(ctx, table, name, now)
		if n > 0 {
			metrics = append(metrics, tableMetric(name, "StreamShards", float64(n), unitCount, now))
		}
		if err != nil {
			j.WarnContext(ctx, "partitions not noted", "table", name, "partitions", n, "error", err)
		}
	}
	return metrics
}

// countTable counts the partitions of a table, whose name in the deployment is name. It stores the number n in the shard
// map. If only the store fails, it returns n with the error.
func (c *partitionCounter) countTable(ctx context.Context, table schema.StreamTable, name string, now time.Time) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	if n, err = c.count(ctx, name); err == nil && n > 0 {
		err = c.shards.NotePartitions(ctx, table, n, now)
	}
	return n, err
}
