package hotkeys_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

// fakeStream is the stream of every table.
type fakeStream struct {
	closed []bool // by stream shard
	fail   error
	noList error // of ListStreams
}

func (f fakeStream) ListStreams(_ context.Context, in *dynamodbstreams.ListStreamsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	stream := func(label string) types.Stream {
		return types.Stream{StreamArn: aws.String("arn:" + *in.TableName + label), StreamLabel: &label}
	}
	return &dynamodbstreams.ListStreamsOutput{Streams: []types.Stream{stream("2025"), stream("2026"), stream("2024")}}, f.noList
}

func (f fakeStream) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	first := 0
	if in.ExclusiveStartShardId != nil {
		last, err := strconv.Atoi(*in.ExclusiveStartShardId)
		if err != nil {
			return nil, err
		}
		first = last + 1
	}
	out := &types.StreamDescription{}
	end := min(first+3, len(f.closed))
	for n := first; n < end; n++ {
		numbers := &types.SequenceNumberRange{StartingSequenceNumber: aws.String("1")}
		if f.closed[n] {
			numbers.EndingSequenceNumber = aws.String("2")
		} else if n%3 == 1 {
			numbers = nil
		}
		out.Shards = append(out.Shards, types.Shard{ShardId: aws.String(strconv.Itoa(n)), SequenceNumberRange: numbers})
	}
	if end < len(f.closed) {
		out.LastEvaluatedShardId = aws.String(strconv.Itoa(end - 1))
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: out}, nil
}

// pauses sums the pauses between pages.
type pauses time.Duration

func (p *pauses) pause(_ context.Context, d time.Duration) bool {
	*p += pauses(d)
	return true
}

// TestPartitionsAreOpenStreamShards checks that a table's partitions are the open stream shards of its newest stream,
// on all pages. Calls are 200 ms apart.
func TestPartitionsAreOpenStreamShards(t *testing.T) {
	for _, closed := range [][]bool{{}, {false}, {true, false}, {true, false, true, true, false, false, false}, make([]bool, 300)} {
		want := 0
		for _, c := range closed {
			if !c {
				want++
			}
		}
		stream, paused := fakeStream{closed: closed}, pauses(0)
		n, err := hotkeys.CountPartitions(stream, paused.pause)(t.Context(), "t")
		if err != nil || n != want || time.Duration(paused) != time.Duration(max(0, len(closed)-1)/3)*200*time.Millisecond {
			t.Errorf("%d stream shards: %d partitions, %v, want %d; paused %v", len(closed), n, err, want, time.Duration(paused))
		}
	}
	var paused pauses
	if n, err := hotkeys.CountPartitions(fakeStream{closed: []bool{false}, noList: errPut}, paused.pause)(t.Context(), "x"); n != 0 || err == nil || !strings.Contains(err.Error(), "listing the streams of table x") {
		t.Errorf("%d partitions, error %v, want one that names the table x", n, err)
	}
	if _, err := hotkeys.CountPartitions(fakeStream{fail: errPut}, paused.pause)(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "describing stream arn:x2026") {
		t.Errorf("error %v, want one that names the stream arn:x2026", err)
	}
}

// TestPartitionCountEnds checks that a count with too many pages, or without time for the next page, is an error.
func TestPartitionCountEnds(t *testing.T) {
	var paused pauses
	if n, err := hotkeys.CountPartitions(fakeStream{closed: make([]bool, 301)}, paused.pause)(t.Context(), "t"); n != 0 || err == nil || !strings.Contains(err.Error(), "100 pages") {
		t.Errorf("101 pages: %d, %v", n, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := hotkeys.CountPartitions(fakeStream{closed: make([]bool, 7)}, func(context.Context, time.Duration) bool { return false })(over, "t"); n != 0 || err == nil {
		t.Errorf("without time: %d, %v", n, err)
	}
}

// counting returns a fixture whose heat task counts partitions.
func counting(t *testing.T, s hotkeys.Settings, count func(table string) (int, error)) *fixture {
	f := newFixture(s)
	f.rebuild(t, s, func(deps *hotkeys.Deps) {
		deps.Partitions = func(_ context.Context, table string) (int, error) { return count(table) }
	})
	return f
}

// TestPartitionsAreNoted checks that the heat task, and no batch, notes each table's partitions and sends them as a
// metric, once a minute and with control act only.
func TestPartitionsAreNoted(t *testing.T) {
	for control, want := range map[growth.Control][]string{growth.Act: {"items 14", "events 15", "items 14", "events 15"}, growth.Observe: nil, growth.Off: nil} {
		s := settings()
		s.Control = control
		f := counting(t, s, func(table string) (int, error) { return len(table), nil })
		f.must(t, batch{writes: repeat("C#a#0", 1, 1), first: 1}.payload())
		f.heatTask(t)
		f.now = f.now.Add(time.Second) // the schedule invokes the task twice
		f.heatTask(t)
		f.now = f.now.Add(time.Minute)
		f.heatTask(t)
		if !slices.Equal(f.shards.noted, want) {
			t.Errorf("%s: noted %v, want %v", control, f.shards.noted, want)
		}
		var sent []string
		for _, d := range f.sink.data {
			if d.name == "StreamShards" {
				sent = append(sent, fmt.Sprintf("%s %v", strings.TrimPrefix(d.of, "hotshard-"), d.value))
			}
		}
		if !slices.Equal(sent, want) {
			t.Errorf("%s: sent %v, want %v", control, sent, want)
		}
	}
}

// TestPartitionsUnknown checks that a failed count, or note, is logged, and fails neither the task nor another table's count.
func TestPartitionsUnknown(t *testing.T) {
	f := counting(t, settings(), func(table string) (int, error) {
		if table == "hotshard-items" {
			return 0, errPut
		}
		return 7, nil
	})
	f.heatTask(t)
	unknown := slices.ContainsFunc(f.sink.data, func(d datum) bool { return d.name == "StreamShards" && d.value == 0 })
	if want := []string{"events 7"}; unknown || !slices.Equal(f.shards.noted, want) || !strings.Contains(f.logs.String(), "partitions not noted") {
		t.Errorf("noted %v, want %v\n%s", f.shards.noted, want, f.logs)
	}
	f.shards.failNote = errPut
	f.now = f.now.Add(time.Minute)
	if f.heatTask(t); !strings.Contains(f.logs.String(), "partitions=7") {
		t.Errorf("a count that could not be noted is not in the logs:\n%s", f.logs)
	}
}
