package hotkeys

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/metrics"
)

// maxPages bounds the pages of a stream's description, each with up to 100 stream shards.
const maxPages = 100

// CountPartitions returns a function that counts the open stream shards of a table's stream. It equals the number of
// the table's partitions: each closed stream shard has an open child or was merged.
func CountPartitions(client StreamDescriber) func(ctx context.Context, streamARN string) (int, error) {
	return func(ctx context.Context, streamARN string) (open int, err error) {
		in := &dynamodbstreams.DescribeStreamInput{StreamArn: &streamARN}
		for range maxPages {
			out, err := client.DescribeStream(ctx, in)
			if err != nil {
				return 0, fmt.Errorf("hotkeys: describing stream %s: %w", streamARN, err)
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
				break
			}
		}
		return open, nil
	}
}

const (
	countTime = 2 * time.Second // bounds how long a count of partitions may delay a batch
	countWait = time.Minute     // at least, between two counts of one process
)

// census stores the tables' numbers of partitions in the shard map.
type census struct {
	settings Settings
	shards   Shards
	count    func(ctx context.Context, streamARN string) (int, error) // may be nil

	mu  sync.Mutex           // held while it counts
	due map[string]time.Time // by table
}

// update counts the partitions when a count is due. Each partition has a process, and each process waits a second for
// each partition. So all of them together count about once a second.
func (c *census) update(ctx context.Context, j *journal, batch *ddbstream.Batch) {
	if c.count == nil || j.source.Own == "" || c.settings.Control != growth.Act || batch.ShardID == "" || !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	now, table := j.now(), j.source.Own
	if now.Before(c.due[table]) {
		return
	}
	c.due[table] = now.Add(countWait)
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	n, err := c.count(ctx, batch.SourceARN)
	if err == nil && n > 0 {
		c.due[table] = now.Add(max(countWait, time.Duration(n)*time.Second))
		j.datum("StreamShards", float64(n), metrics.Count, now)
		err = c.shards.NotePartitions(ctx, table, n, now)
	}
	if err != nil {
		j.WarnContext(ctx, "partitions not noted", "table", j.source.Table, "partitions", n, "error", err)
	}
}
