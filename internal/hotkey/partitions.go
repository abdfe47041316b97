package hotkey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/growth"
)

// maxPages bounds the pages of a description, of a hundred stream shards each.
const maxPages = 100

// CountPartitions returns a function that counts the open stream shards of a table's stream: as
// many as the table has partitions. A closed one has a child that is open, or has been
// merged with others.
func CountPartitions(client StreamDescriber) func(ctx context.Context, streamARN string) (int, error) {
	return func(ctx context.Context, streamARN string) (open int, err error) {
		in := &dynamodbstreams.DescribeStreamInput{StreamArn: &streamARN}
		for range maxPages {
			out, err := client.DescribeStream(ctx, in)
			if err != nil {
				return 0, fmt.Errorf("hotkey: describing stream %s: %w", streamARN, err)
			}
			if out.StreamDescription == nil {
				return 0, errors.New("hotkey: the stream's description is empty")
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
	countTime = 2 * time.Second // bounds how long a count of partitions may keep a batch waiting
	countWait = time.Minute     // between two counts in one process, at least
)

// census notes in the shard map how many partitions the table has.
type census struct {
	settings Settings
	shards   Shards
	count    func(ctx context.Context, streamARN string) (int, error) // nil where nobody can tell

	mu  sync.Mutex // is held while it counts
	due time.Time
}

// take counts the partitions when that is due. There is a process for each partition, which
// waits a second for each: all of them together ask about once a second.
func (c *census) take(ctx context.Context, j *journal, batch *ddbstream.Batch) {
	if c.count == nil || !j.source.Own || c.settings.Control != growth.Act || batch.ShardID == "" || !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	now := j.now()
	if now.Before(c.due) {
		return
	}
	c.due = now.Add(countWait)
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	n, err := c.count(ctx, batch.SourceARN)
	if err == nil && n > 0 {
		c.due = now.Add(max(countWait, time.Duration(n)*time.Second))
		err = c.shards.NotePartitions(ctx, n, now)
	}
	if err != nil {
		j.WarnContext(ctx, "partitions not noted", "partitions", n, "error", err)
	}
}
