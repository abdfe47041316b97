package hotkey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/ddbstream"
)

// StreamDescriber is what [OpenShards] needs of DynamoDB.
type StreamDescriber interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
}

// maxPages bounds the pages of a description, of a hundred stream shards each.
const maxPages = 100

// OpenShards returns a function that counts the open stream shards of a table's stream: as
// many as the table has partitions. A closed one has a child that is open, or has been
// merged with others.
func OpenShards(client StreamDescriber) func(ctx context.Context, streamARN string) (int, error) {
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
	countTime = 2 * time.Second // bounds how long a count may keep a batch waiting
	countWait = time.Minute     // between two counts in one process, at least
)

// counts has processes count partitions now and then. There is a process for each
// partition, which waits a second for each: all of them together ask about once a second.
type counts struct {
	mu   sync.Mutex
	next time.Time
}

// due tells whether the table's partitions are to be counted, and that nobody else is to.
func (c *counts) due(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.next) {
		return false
	}
	c.next = now.Add(countWait)
	return true
}

func (c *counts) counted(n int, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = now.Add(max(countWait, time.Duration(n)*time.Second))
}

// countPartitions notes in the shard map how many partitions the table has, when that is due.
func (r *run) countPartitions(ctx context.Context, batch *ddbstream.Batch) {
	now := r.deps.Now()
	if r.deps.Partitions == nil || !r.source.Own || r.settings.Control != Act || batch.ShardID == "" || !r.counts.due(now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	n, err := r.deps.Partitions(ctx, batch.SourceARN)
	if err == nil && n > 0 {
		r.counts.counted(n, now)
		err = r.deps.Shards.NotePartitions(ctx, n, now)
	}
	if err != nil {
		r.deps.Log.WarnContext(ctx, "partitions not noted", "partitions", n, "error", err)
	}
}
