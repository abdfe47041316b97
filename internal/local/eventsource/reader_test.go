package eventsource

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// fakeStreams has one stream shard with the records 1 to 3. It fails each
// GetRecords call once with the next of errs.
type fakeStreams struct {
	errs      []error
	positions []string // asked for by GetShardIterator: "" for TRIM_HORIZON
	limits    []int32
}

func (f *fakeStreams) ListStreams(_ context.Context, in *dynamodbstreams.ListStreamsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	stream := func(label string) types.Stream {
		return types.Stream{StreamArn: aws.String("arn:" + label), StreamLabel: &label}
	}
	if in.ExclusiveStartStreamArn == nil {
		return &dynamodbstreams.ListStreamsOutput{Streams: []types.Stream{stream("2026-01-02"), stream("2026-01-03")},
			LastEvaluatedStreamArn: aws.String("arn:2026-01-03")}, nil
	}
	return &dynamodbstreams.ListStreamsOutput{Streams: []types.Stream{stream("2026-01-01")}}, nil
}

func (f *fakeStreams) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	d := &types.StreamDescription{Shards: []types.Shard{{ShardId: aws.String("a")}}, LastEvaluatedShardId: aws.String("a")}
	if in.ExclusiveStartShardId != nil {
		d = &types.StreamDescription{Shards: []types.Shard{{ShardId: aws.String("b"), ParentShardId: aws.String("a")}}}
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (f *fakeStreams) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	at := aws.ToString(in.SequenceNumber)
	f.positions = append(f.positions, at)
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: &at}, nil
}

func (f *fakeStreams) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	f.limits = append(f.limits, *in.Limit)
	next := map[string]string{"": "1", "1": "2", "2": "3"}[*in.ShardIterator]
	if next == "" {
		return &dynamodbstreams.GetRecordsOutput{}, nil
	}
	return &dynamodbstreams.GetRecordsOutput{NextShardIterator: &next, Records: []types.Record{{
		AwsRegion: aws.String("eu-west-1"),
		Dynamodb: &types.StreamRecord{SequenceNumber: &next, SizeBytes: aws.Int64(1 << 20),
			ApproximateCreationDateTime: aws.Time(time.Unix(1700000001, 0))},
	}}}, nil
}

func TestReaderRenewsItsIterator(t *testing.T) {
	f := &fakeStreams{errs: []error{&types.ExpiredIteratorException{}}}
	s, err := OpenStream(t.Context(), f, "items")
	if err != nil || s.ARN() != "arn:2026-01-03" {
		t.Fatalf("stream is %v, %v", s, err)
	}
	r := s.Open("a", "1")
	if _, _, err := r.Next(t.Context(), 1000); !errors.As(err, new(*types.ExpiredIteratorException)) {
		t.Fatalf("error is %v", err)
	}
	var got []string
	closed := false
	for !closed {
		var records []Record
		records, closed, err = r.Next(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range records {
			got = append(got, rec.Sequence())
			if rec.Created.Unix() != 1700000001 {
				t.Errorf("a record that the engine did not stamp has the time %v", rec.Created)
			}
		}
	}
	if !slices.Equal(got, []string{"2", "3"}) || !slices.Equal(f.positions, []string{"1", "1"}) {
		t.Errorf("read %v with iterators after %q", got, f.positions)
	}
	if !slices.Equal(f.limits, []int32{firstPage, 3, 3}) {
		t.Errorf("asked for %v records", f.limits)
	}
}

func TestReaderStartsOverWhenTrimmed(t *testing.T) {
	f := &fakeStreams{errs: []error{&types.TrimmedDataAccessException{}}}
	s := &Stream{client: f, arn: "arn:1", now: time.Now}
	r := s.Open("a", "2")
	_, _, err := r.Next(t.Context(), 10)
	if err == nil || !strings.Contains(err.Error(), "stream shard a") {
		t.Fatalf("error is %v", err)
	}
	records, _, err := r.Next(t.Context(), 10)
	if err != nil || len(records) != 1 || records[0].Sequence() != "1" {
		t.Errorf("read %v, %v after the trim", records, err)
	}
}

func TestStreamListsAllShards(t *testing.T) {
	s := &Stream{client: &fakeStreams{}, arn: "arn:1", now: time.Now}
	shards, err := s.Shards(t.Context())
	if err != nil || !slices.Equal(shards, []StreamShard{{ID: "a"}, {ID: "b", Parent: "a"}}) {
		t.Errorf("shards are %v, %v", shards, err)
	}
}
