package hotkeys

import (
	"context"
	"errors"
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
	// maxPages bounds the pages of a stream's description, each with up to 100 stream shards.
	maxPages = 100

	// pagePause is the time between two pages. An account may call DescribeStream ten times a second.
	pagePause = 500 * time.Millisecond
)

// CountPartitions returns a function that counts the open stream shards of a table's stream. It equals the number of
// the table's partitions: each closed stream shard has an open child or was merged. It waits with pause between pages.
func CountPartitions(client StreamDescriber, pause func(context.Context, time.Duration) bool) func(ctx context.Context, table string) (int, error) {
	return func(ctx context.Context, table string) (open int, err error) {
		streams, err := client.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &table})
		if err != nil {
			return 0, fmt.Errorf("hotkeys: listing the streams of table %s: %w", table, err)
		}
		if len(streams.Streams) == 0 {
			return 0, fmt.Errorf("hotkeys: table %s has no stream", table)
		}
		newest := slices.MaxFunc(streams.Streams, func(a, b types.Stream) int {
			return strings.Compare(aws.ToString(a.StreamLabel), aws.ToString(b.StreamLabel))
		})
		in := &dynamodbstreams.DescribeStreamInput{StreamArn: newest.StreamArn}
		for range maxPages {
			out, err := client.DescribeStream(ctx, in)
			if err != nil {
				return 0, fmt.Errorf("hotkeys: describing stream %s: %w", *in.StreamArn, err)
			}
			if out.StreamDescription == nil {
				return 0, errors.New("hotkeys: the stream's description is empty")
			}
			for _, s := range out.StreamDescription.Shards {
				if s.SequenceNumberRange == nil || s.SequenceNumberRange.EndingSequenceNumber == nil {
					open++
				}
			}
			if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
				return open, nil
			}
			if !pause(ctx, pagePause) {
				return 0, fmt.Errorf("hotkeys: describing stream %s: %w", *in.StreamArn, ctx.Err())
			}
		}
		return 0, fmt.Errorf("hotkeys: stream %s has more than %d stream shards, open and closed", *in.StreamArn, 100*maxPages)
	}
}

const (
	countTime = 50 * time.Second // bounds a count, within the function's timeout
	countWait = 50 * time.Second // at least, between two counts of one process; schedules are a bit early at times
	maxMissed = 4                // doublings of countWait after failures
)

// census stores the tables' numbers of partitions in the shard map. It is part of the layers task, so one process counts
// for all.
type census struct {
	settings Settings
	shards   Shards
	count    func(ctx context.Context, table string) (int, error) // may be nil

	mu     sync.Mutex // held while it counts
	due    map[kind.Table]time.Time
	failed map[kind.Table]int // counts in a row
}

// update counts the partitions of each of hotshard's own tables, of which a count is due. After failures it waits up to
// 16 times as long. It returns the metrics for the journal, which other parts of the task use meanwhile.
func (c *census) update(ctx context.Context, j *journal) (found []metrics.Datum) {
	if c.count == nil || j.source.Own == "" || c.settings.Control != growth.Act || !c.mu.TryLock() {
		return nil
	}
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for _, table := range kind.Tables() {
		now, name := j.now(), c.settings.names().Table(table)
		if now.Before(c.due[table]) {
			continue
		}
		n, err := c.count(ctx, name)
		if err == nil && n > 0 {
			found = append(found, datum(name, "StreamShards", float64(n), metrics.Count, now))
			err = c.shards.NotePartitions(ctx, table, n, now)
		}
		if err != nil {
			c.due[table], c.failed[table] = now.Add(countWait<<c.failed[table]), min(c.failed[table]+1, maxMissed)
			j.WarnContext(ctx, "partitions not noted", "table", name, "partitions", n, "error", err)
			continue
		}
		c.due[table], c.failed[table] = now.Add(countWait), 0
	}
	return found
}
