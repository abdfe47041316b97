package eventsource

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// StreamsAPI are the calls that a Stream makes.
type StreamsAPI interface {
	ListStreams(context.Context, *dynamodbstreams.ListStreamsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error)
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// maxPages bounds the pages of any listing.
const maxPages = 1000

// Stream is the stream of a table.
type Stream struct {
	client StreamsAPI
	arn    string
	now    func() time.Time
}

// OpenStream returns the newest stream of a table; a table without one is an
// error.
func OpenStream(ctx context.Context, client StreamsAPI, table string) (*Stream, error) {
	var newest types.Stream
	in := &dynamodbstreams.ListStreamsInput{TableName: &table}
	for range maxPages {
		out, err := client.ListStreams(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list the streams of table %s: %w", table, err)
		}
		for _, s := range out.Streams {
			// Labels are times of one form, so text order is time order.
			if newest.StreamArn == nil || aws.ToString(s.StreamLabel) > aws.ToString(newest.StreamLabel) {
				newest = s
			}
		}
		if in.ExclusiveStartStreamArn = out.LastEvaluatedStreamArn; in.ExclusiveStartStreamArn == nil {
			break
		}
	}
	if newest.StreamArn == nil {
		return nil, fmt.Errorf("table %s has no stream", table)
	}
	return &Stream{client: client, arn: *newest.StreamArn, now: time.Now}, nil
}

// ARN implements Source.
func (s *Stream) ARN() string { return s.arn }

// Shards implements Source.
func (s *Stream) Shards(ctx context.Context) ([]StreamShard, error) {
	var shards []StreamShard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn}
	for range maxPages {
		out, err := s.client.DescribeStream(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list the shards of stream %s: %w", s.arn, err)
		}
		for _, shard := range out.StreamDescription.Shards {
			shards = append(shards, StreamShard{ID: aws.ToString(shard.ShardId), Parent: aws.ToString(shard.ParentShardId)})
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			break
		}
	}
	return shards, nil
}

// Open implements Source.
func (s *Stream) Open(shard, after string) Reader {
	return &streamReader{stream: s, shard: shard, after: after, page: firstPage}
}
