package hotkeys_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

// fakeStream is a table's stream. It returns stream shards, some of them closed, in pages of three.
type fakeStream struct {
	closed []bool
	fail   error
}

func (f fakeStream) ListStreams(_ context.Context, in *dynamodbstreams.ListStreamsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	stream := func(label string) types.Stream {
		return types.Stream{StreamArn: aws.String("arn:" + *in.TableName + label), StreamLabel: &label}
	}
	return &dynamodbstreams.ListStreamsOutput{Streams: []types.Stream{stream("2025"), stream("2026"), stream("2024")}}, nil
}

// pauses adds up the time between pages.
type pauses time.Duration

func (p *pauses) pause(_ context.Context, d time.Duration) bool {
	*p += pauses(d)
	return true
}

func (f fakeStream) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	first := 0
	if in.ExclusiveStartShardId != nil {
		if _, err := fmt.Sscan(*in.ExclusiveStartShardId, &first); err != nil {
			return nil, err
		}
		first++
	}
	out := &dynamodbstreams.DescribeStreamOutput{StreamDescription: &types.StreamDescription{}}
	for n := first; n < min(first+3, len(f.closed)); n++ {
		numbers := &types.SequenceNumberRange{StartingSequenceNumber: aws.String("1")}
		if f.closed[n] {
			numbers.EndingSequenceNumber = aws.String("2")
		}
		out.StreamDescription.Shards = append(out.StreamDescription.Shards, types.Shard{ShardId: aws.String(fmt.Sprint(n)), SequenceNumberRange: numbers})
	}
	if first+3 < len(f.closed) {
		out.StreamDescription.LastEvaluatedShardId = aws.String(fmt.Sprint(first + 2))
	}
	return out, nil
}

// TestOpenShards checks that open shards are counted over all pages, half a second apart, and that a closed parent and
// its open child count once.
func TestOpenShards(t *testing.T) {
	for _, closed := range [][]bool{{}, {false}, {true, false}, {true, false, true, true, false, false, false}, make([]bool, 300)} {
		want := 0
		for _, c := range closed {
			if !c {
				want++
			}
		}
		stream, paused := fakeStream{closed: closed}, pauses(0)
		n, err := hotkeys.CountPartitions(stream, paused.pause)(t.Context(), "t")
		if err != nil || n != want || time.Duration(paused) != time.Duration(max(0, len(closed)-1)/3)*500*time.Millisecond {
			t.Errorf("%v: %d, %v, paused %v", closed, n, err, time.Duration(paused))
		}
	}
	var paused pauses
	if _, err := hotkeys.CountPartitions(fakeStream{fail: errPut}, paused.pause)(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "describing stream arn:x2026") {
		t.Errorf("got %v", err)
	}
}

// TestCountsGoOn checks that a count with too many pages for one call, or whose time is up, goes on with the next call.
func TestCountsGoOn(t *testing.T) {
	var paused pauses
	count := hotkeys.CountPartitions(fakeStream{closed: make([]bool, 301)}, paused.pause) // 101 pages
	for i, want := range []int{0, 301, 0, 301} {
		if n, err := count(t.Context(), "t"); n != want || err != nil {
			t.Errorf("call %d: %d, %v, want %d", i, n, err, want)
		}
	}
	count = hotkeys.CountPartitions(fakeStream{closed: make([]bool, 7)}, func(context.Context, time.Duration) bool { return false })
	for i, want := range []int{0, 0, 7, 0} {
		if n, err := count(t.Context(), "t"); n != want || err != nil {
			t.Errorf("call %d without time: %d, %v, want %d", i, n, err, want)
		}
	}
}

// counting is a fixture whose layers task counts partitions.
func counting(t *testing.T, s hotkeys.Settings, count func(table string) (int, error)) *fixture {
	f := newFixture(s)
	deps := f.deps()
	deps.Partitions = func(_ context.Context, table string) (int, error) { return count(table) }
	var err error
	if f.handler, err = hotkeys.New(s, deps); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPartitionsAreNoted checks that the layers task notes each table's partitions, with control act only, and that
// batches count nothing.
func TestPartitionsAreNoted(t *testing.T) {
	for control, want := range map[growth.Control][]string{growth.Act: {"items 14", "events 15", "items 14", "events 15"}, growth.Observe: nil, growth.Off: nil} {
		s := settings()
		s.Control = control
		f := counting(t, s, func(table string) (int, error) { return len(table), nil })
		f.must(t, batch{writes: repeat("C#a#0", 1, 1), first: 1}.payload())
		f.layersTask(t)
		f.now = f.now.Add(time.Second) // the schedule ran twice
		f.layersTask(t)
		f.now = f.now.Add(time.Minute)
		f.layersTask(t)
		if !slices.Equal(f.shards.noted, want) {
			t.Errorf("%s: noted %v, want %v", control, f.shards.noted, want)
		}
		var sent []string // the metric of an alarm
		for _, d := range f.sink.Data() {
			if d.Name == "StreamShards" {
				sent = append(sent, fmt.Sprintf("%s %v", strings.TrimPrefix(d.Dimensions[0].Value, "hotshard-"), d.Value))
			}
		}
		if !slices.Equal(sent, want) {
			t.Errorf("%s: sent %v, want %v", control, sent, want)
		}
	}
}

// TestPartitionsUnknown checks that an error is logged and does not fail the task, and that counts are less frequent
// while they fail, for each table by itself.
func TestPartitionsUnknown(t *testing.T) {
	counts, down := map[string]int{}, true
	f := counting(t, settings(), func(table string) (int, error) {
		counts[table]++
		if down && table == "hotshard-items" {
			return 0, errPut
		}
		return 7, nil
	})
	for range 60 {
		f.layersTask(t)
		f.now = f.now.Add(time.Minute)
	}
	if n := counts["hotshard-items"]; n < 6 || n > 8 || counts["hotshard-events"] != 60 || strings.Count(f.logs.String(), "partitions not noted") != n {
		t.Errorf("counted %v times in an hour\n%s", counts, f.logs)
	}
	down = false
	for range 30 {
		f.layersTask(t)
		f.now = f.now.Add(time.Minute)
	}
	if counts["hotshard-items"] < 20 {
		t.Errorf("counted %v times after it recovered", counts)
	}
	f.shards.failNote = errPut
	f.layersTask(t)
	if !strings.Contains(f.logs.String(), "partitions=7") {
		t.Errorf("%s", f.logs)
	}
}
