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
	meetTime = 2 * time.Second // bounds how long a count may keep a batch waiting
	meetWait = time.Minute     // between two counts in one process
	meetAge  = 5 * time.Minute // the same, if no stream shard is new
	maxKnown = 1000            // stream shards that a process remembers
)

// known are the stream shards that a process has met, and when it last counted partitions.
type known struct {
	mu    sync.Mutex
	asked time.Time
	met   map[string]bool
}

// ask tells whether the table's partitions are to be counted, now that a delivery comes by
// a stream shard.
func (k *known) ask(streamShard string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	passed := now.Sub(k.asked)
	if passed < meetWait || k.met[streamShard] && passed < meetAge {
		return false
	}
	if k.met == nil || len(k.met) >= maxKnown {
		k.met = make(map[string]bool)
	}
	k.asked, k.met[streamShard] = now, true
	return true
}

// meet notes in the shard map how many partitions the table has, when a delivery comes by a
// stream shard that is new to this process, and every few minutes.
func (r *run) meet(ctx context.Context, batch *ddbstream.Batch) {
	now := r.deps.Now()
	if r.deps.Partitions == nil || !r.source.Own || r.settings.Control != Act || batch.ShardID == "" || !r.known.ask(batch.ShardID, now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, meetTime)
	defer cancel()
	n, err := r.deps.Partitions(ctx, batch.SourceARN)
	if err == nil && n > 0 {
		err = r.deps.Shards.NotePartitions(ctx, n, now)
	}
	if err != nil {
		r.deps.Log.WarnContext(ctx, "partitions not noted", "partitions", n, "error", err)
	}
}
