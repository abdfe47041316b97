package eventsource

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// MaxPages bounds the pages of any listing.
const MaxPages = 1000

// describePause is the time between two calls of DescribeStream: an account has ten a second.
const describePause = 200 * time.Millisecond

// Stream is a table's stream. It lists the stream shards, and its [Cursor] reads one of them. It is a [Source].
type Stream struct {
	client *dynamodbstreams.Client
	arn    string
	view   types.StreamViewType

	listing    chan struct{} // admits one listing at a time
	described  time.Time     // when DescribeStream was last called
	exact      atomic.Bool   // a record was read whose creation time has seconds
	clockAhead atomic.Int64  // upper bound of the service's clock minus this machine's, in nanoseconds; 0 if they may agree
}

// NewStream returns the stream of this ARN and view type. It makes no call.
func NewStream(client *dynamodbstreams.Client, arn string, view types.StreamViewType) *Stream {
	return &Stream{client: client, arn: arn, view: view, listing: make(chan struct{}, 1)}
}

// observeClock compares the service's clock with this machine's, by the answer to a call that was made at sent. It
// returns the service's time when it answered, or earlier by up to a second and the call's duration.
func (s *Stream) observeClock(answer middleware.Metadata, sent time.Time) time.Time {
	date, ok := awsmiddleware.GetServerTime(answer) // whole seconds
	if !ok {
		return sent
	}
	least, most := time.Until(date), date.Add(time.Second).Sub(sent)
	if least <= 0 && most >= 0 { // the clocks may agree
		most = 0
	}
	s.clockAhead.Store(int64(most))
	return sent.Add(least)
}

// Now returns this machine's time if its clock may agree with the service's, by the last answer. Otherwise it returns
// the service's time, with which records are stamped, or later by up to a second and the last call's duration.
func (s *Stream) Now() time.Time { return time.Now().Add(time.Duration(s.clockAhead.Load())) }

// OpenStream returns the stream of a table. It returns an error if the table has no stream.
func OpenStream(ctx context.Context, tables dynamodb.DescribeTableAPIClient, client *dynamodbstreams.Client, table string) (*Stream, error) {
	out, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, fmt.Errorf("describing table %s: %w", table, err)
	}
	if out.Table == nil || out.Table.LatestStreamArn == nil || out.Table.StreamSpecification == nil {
		return nil, fmt.Errorf("table %s has no stream: enable DynamoDB Streams for it", table)
	}
	return NewStream(client, *out.Table.LatestStreamArn, out.Table.StreamSpecification.StreamViewType), nil
}

// ARN returns the stream's ARN.
func (s *Stream) ARN() string { return s.arn }

// Exact reports whether a record was read whose creation time has seconds. DynamoDB Local truncates the times to the
// minute, and so do emulators that contain it.
func (s *Stream) Exact() bool { return s.exact.Load() }

// observeTimes sets exact if a record's time has seconds.
func (s *Stream) observeTimes(records []ddbstream.Record) {
	if s.Exact() {
		return
	}
	for i := range records {
		if created := records[i].Created; !created.Equal(created.Truncate(time.Minute)) {
			s.exact.Store(true)
		}
	}
}

// IsEngine reports whether the stream is DynamoDB Local's, which needs no pauses between calls, and whose pages have no
// maximum size.
func (s *Stream) IsEngine() bool { return IsEngine(s.arn) }

// IsEngine reports whether the ARN names a stream of DynamoDB Local. Emulators that contain it may change the ARN.
func IsEngine(streamARN string) bool {
	return strings.Contains(streamARN, ":"+dynamolocal.EngineRegion+":")
}

// Shard is a stream shard as the stream lists it.
type Shard struct {
	ID     string
	Parent string // is read before this shard while the stream lists it; "" for none
	Closed bool   // takes no more records; its records can still be read
}

// noRetry disables the SDK's own retries, which would repeat throttled calls.
func noRetry(o *dynamodbstreams.Options) { o.Retryer = aws.NopRetryer{} }

// Shards lists all shards of the stream, in any order.
func (s *Stream) Shards(ctx context.Context) ([]Shard, error) { return s.list(ctx, nil) }

// Children lists the children of a shard, or all shards if the service has no filter.
func (s *Stream) Children(ctx context.Context, parent string) ([]Shard, error) {
	list, err := s.list(ctx, &streamtypes.ShardFilter{Type: streamtypes.ShardFilterTypeChildShards, ShardId: &parent})
	if isRejected(err) {
		return s.Shards(ctx)
	}
	return list, err
}

// list lists shards, one listing at a time. Between two calls to AWS it waits for describePause.
func (s *Stream) list(ctx context.Context, filter *streamtypes.ShardFilter) ([]Shard, error) {
	select {
	case s.listing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.listing }()
	var list []Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn, ShardFilter: filter}
	for range MaxPages {
		if !s.IsEngine() && !dynamo.Pause(ctx, time.Until(s.described.Add(describePause))) {
			return nil, ctx.Err()
		}
		s.described = time.Now()
		out, err := s.client.DescribeStream(ctx, in, noRetry)
		if err != nil {
			return nil, fmt.Errorf("list the shards of stream %s: %w", s.arn, err)
		}
		if out.StreamDescription == nil {
			return nil, fmt.Errorf("list the shards of stream %s: %w: check the endpoint", s.arn, errNotDynamoDB)
		}
		s.observeClock(out.ResultMetadata, s.described)
		for _, shard := range out.StreamDescription.Shards {
			list = append(list, Shard{
				ID: aws.ToString(shard.ShardId), Parent: aws.ToString(shard.ParentShardId),
				Closed: shard.SequenceNumberRange != nil && shard.SequenceNumberRange.EndingSequenceNumber != nil,
			})
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("list the shards of stream %s: the list has more than %d pages", s.arn, MaxPages)
}

// ended lists the shards and reports whether a shard is closed, or no longer listed.
func (s *Stream) ended(ctx context.Context, id string) (bool, error) {
	list, err := s.Shards(ctx)
	if err != nil {
		return false, err
	}
	for _, shard := range list {
		if shard.ID == id {
			return shard.Closed, nil
		}
	}
	return true, nil
}

// Position is a position in a stream shard.
type Position struct {
	kind  streamtypes.ShardIteratorType
	time  time.Time // of AT_TIMESTAMP
	after string    // of AFTER_SEQUENCE_NUMBER
}

var (
	// Latest is after the newest record.
	Latest = Position{kind: streamtypes.ShardIteratorTypeLatest}
	// TrimHorizon is at the oldest record, which is up to 24 hours old.
	TrimHorizon = Position{kind: streamtypes.ShardIteratorTypeTrimHorizon}
)

// AfterSequence returns the position after the record with this sequence number.
func AfterSequence(number string) Position {
	return Position{kind: streamtypes.ShardIteratorTypeAfterSequenceNumber, after: number}
}

// AtTimestamp returns the position of the first record at t or later. DynamoDB Local can't: see [Stream.FindsTimes].
func AtTimestamp(t time.Time) Position {
	return Position{kind: streamtypes.ShardIteratorTypeAtTimestamp, time: t}
}

// iterator returns an iterator at a position; "" if the answer has none.
func (s *Stream) iterator(ctx context.Context, shard string, position Position) (string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &s.arn, ShardId: &shard, ShardIteratorType: position.kind}
	if position.after != "" {
		in.SequenceNumber = &position.after
	}
	if !position.time.IsZero() {
		in.Timestamp = &position.time
	}
	out, err := s.client.GetShardIterator(ctx, in, noRetry)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ShardIterator), nil
}

// emptyAnswers is the number of answers in a row without an iterator that prove that there is none.
const emptyAnswers = 3

// FindsTimes reports whether the service supports [AtTimestamp]; true for no shards. It requests such an iterator for
// one shard, emptyAnswers times at most. The service does not support it if it rejects a request, or answers all with a
// server fault but has an iterator at [TrimHorizon]: DynamoDB Local does, and so may emulators that contain it.
func (s *Stream) FindsTimes(ctx context.Context, list []Shard, at time.Time) (bool, error) {
	if len(list) == 0 {
		return true, nil
	}
	shard, failures := list[len(list)-1].ID, 0
	for range emptyAnswers {
		iterator, err := s.iterator(ctx, shard, AtTimestamp(at))
		switch {
		case isRejected(err):
			return false, nil
		case isServerFault(err):
			if _, otherErr := s.iterator(ctx, shard, TrimHorizon); otherErr != nil {
				return false, err
			}
			failures++
		case err != nil:
			return false, err
		case iterator != "":
			return true, nil
		}
	}
	return failures < emptyAnswers, nil // an answer without an iterator proves nothing
}
