package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/dynamo"
)

// Streams are the calls of DynamoDB Streams that are made. GetRecords wants a client that
// heeds Options.APIOptions, as the SDK's does: its answer is read past the SDK.
type Streams interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// maxPages bounds the pages of any listing.
const maxPages = 1000

// describePause is between two calls of DescribeStream: an account has ten a second, for all.
const describePause = 200 * time.Millisecond

// stream makes the calls for one stream.
type stream struct {
	client Streams
	arn    string
	clock  clock

	mu        sync.Mutex // one listing at a time
	described time.Time  // when DescribeStream was called last
}

// listed is a stream shard as the stream lists it.
type listed struct {
	id, parent string
	closed     bool
}

// once makes the SDK try no call twice: a throttle ends the reading, and a poll that failed is
// made again with the next one.
func once(o *dynamodbstreams.Options) { o.Retryer = aws.NopRetryer{} }

// shards lists all stream shards.
func (s *stream) shards(ctx context.Context) ([]listed, error) { return s.list(ctx, nil) }

// children lists those of a stream shard, where the service knows how, and all otherwise.
func (s *stream) children(ctx context.Context, parent string) ([]listed, error) {
	list, err := s.list(ctx, &types.ShardFilter{Type: types.ShardFilterTypeChildShards, ShardId: &parent})
	if refused(err) {
		return s.shards(ctx)
	}
	return list, err
}

func (s *stream) list(ctx context.Context, filter *types.ShardFilter) ([]listed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []listed
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn, ShardFilter: filter}
	for range maxPages {
		if err := sleep(ctx, time.Until(s.described.Add(describePause))); err != nil {
			return nil, err
		}
		s.described = time.Now()
		out, err := s.client.DescribeStream(ctx, in, once)
		if err != nil {
			return nil, fmt.Errorf("listing the stream shards of %s: %w", s.arn, err)
		}
		s.clock.take(out.ResultMetadata, s.described)
		for _, shard := range out.StreamDescription.Shards {
			list = append(list, listed{
				id: aws.ToString(shard.ShardId), parent: aws.ToString(shard.ParentShardId),
				closed: shard.SequenceNumberRange != nil && shard.SequenceNumberRange.EndingSequenceNumber != nil,
			})
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("there is no end of the stream shards of %s", s.arn)
}

// place is where reading a stream shard begins.
type place struct {
	kind  types.ShardIteratorType
	time  time.Time // of AT_TIMESTAMP
	after string    // of AFTER_SEQUENCE_NUMBER
}

var (
	latest  = place{kind: types.ShardIteratorTypeLatest}
	horizon = place{kind: types.ShardIteratorTypeTrimHorizon}
)

func afterSequence(number string) place {
	return place{kind: types.ShardIteratorTypeAfterSequenceNumber, after: number}
}

func atTime(t time.Time) place { return place{kind: types.ShardIteratorTypeAtTimestamp, time: t} }

// iterator asks for one.
func (s *stream) iterator(ctx context.Context, shard string, p place) (string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &s.arn, ShardId: &shard, ShardIteratorType: p.kind}
	if p.after != "" {
		in.SequenceNumber = &p.after
	}
	if !p.time.IsZero() {
		in.Timestamp = &p.time
	}
	out, err := s.client.GetShardIterator(ctx, in, once)
	if err != nil {
		return "", fmt.Errorf("asking where to read stream shard %s: %w", shard, err)
	}
	return aws.ToString(out.ShardIterator), nil
}

// seeks tells whether the service can find a time in the stream, by asking for one.
func (s *stream) seeks(ctx context.Context, list []listed, at time.Time) (bool, error) {
	if len(list) == 0 {
		return true, nil
	}
	_, err := s.iterator(ctx, list[len(list)-1].id, atTime(at))
	if refused(err) {
		return false, nil
	}
	return true, err
}

// maxRecords is what one call of GetRecords returns at most.
const maxRecords = 1000

// records makes a poll, and leaves the answer as it came in body. DynamoDB Local has no bound
// for the bytes of an answer, and fails where its memory has one: then it is asked for less.
func (s *stream) records(ctx context.Context, iterator string, body *bytes.Buffer) error {
	for limit := int32(maxRecords); ; limit /= 8 {
		body.Reset()
		sent := time.Now()
		out, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator, Limit: &limit}, once, raw(body))
		if err == nil {
			s.clock.take(out.ResultMetadata, sent)
		}
		answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
		if !ok || answer.HTTPStatusCode() < http.StatusInternalServerError || !s.ofEngine() || limit < 8 {
			return err
		}
	}
}

// slot is the memory that a poll needs.
type slot struct {
	body    bytes.Buffer
	decoder ddbstream.Decoder
}

// decode reads the answer. The batch is good until release.
func (s *slot) decode() (*ddbstream.Batch, error) {
	batch, err := s.decoder.Decode(s.body.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the answer of GetRecords can't be read: %w", err)
	}
	return batch, nil
}

// keepBody is how large a body's room may be to be used again.
const keepBody = 4 << 20

func (s *slot) release() {
	s.decoder.Release()
	if s.body.Cap() > keepBody {
		s.body = bytes.Buffer{}
	}
}

// raw hands the body of an answer to the caller, and an empty object to the SDK in its place:
// the SDK would make maps of all attributes, which takes many times as long as counting them.
// Errors are the SDK's to read.
func raw(body *bytes.Buffer) func(*dynamodbstreams.Options) {
	take := middleware.DeserializeMiddlewareFunc("RawBody", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		response, ok := out.RawResponse.(*smithyhttp.Response)
		if err != nil || !ok || response.StatusCode != http.StatusOK {
			return out, metadata, err
		}
		_, err = body.ReadFrom(io.LimitReader(response.Body, maxBody+1))
		if err == nil && body.Len() > maxBody {
			err = fmt.Errorf("an answer of GetRecords has more than %d bytes", maxBody)
		}
		response.Body.Close()
		response.Body = io.NopCloser(strings.NewReader("{}"))
		return out, metadata, err
	})
	return func(o *dynamodbstreams.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(take, middleware.After) // next to the transport
		})
	}
}

// maxBody bounds an answer: DynamoDB's have 1 MB of records, its local engine's 1,000 records
// of any size.
const maxBody = 512 << 20

// Kinds of errors.

// refused says that the service doesn't know what was asked for.
func refused(err error) bool {
	fault, ok := errors.AsType[smithy.APIError](err)
	return ok && strings.HasSuffix(fault.ErrorCode(), "ValidationException") || ok && fault.ErrorCode() == "SerializationException"
}

// passing says that the same call may be answered soon: no answer came, or not all of it, or one
// of a service that is out of order.
func passing(err error) bool {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return !ok || answer.HTTPStatusCode() == http.StatusOK || answer.HTTPStatusCode() >= http.StatusInternalServerError
}

func sleep(ctx context.Context, d time.Duration) error {
	dynamo.Pause(ctx, d)
	return ctx.Err()
}
