package hotkey

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
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
