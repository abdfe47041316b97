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

// fakeStream returns stream shards, some of them closed, in pages of three.
type fakeStream struct {
	closed []bool
	fail   error
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

// TestOpenShards checks that open shards are counted over all pages, and that a closed parent and its open child count
// once.
func TestOpenShards(t *testing.T) {
	for _, closed := range [][]bool{{}, {false}, {true, false}, {true, false, true, true, false, false, false}} {
		want := 0
		for _, c := range closed {
			if !c {
				want++
			}
		}
		if n, err := hotkeys.CountPartitions(fakeStream{closed: closed})(t.Context(), "arn"); err != nil || n != want {
			t.Errorf("%v: %d, %v", closed, n, err)
		}
	}
	if _, err := hotkeys.CountPartitions(fakeStream{fail: errPut})(t.Context(), "arn:x"); err == nil || !strings.Contains(err.Error(), "describing stream arn:x") {
		t.Errorf("got %v", err)
	}
}

// TestPartitionsAreNoted checks that each process notes the partitions once a minute, less often with many partitions,
// and only with control act.
func TestPartitionsAreNoted(t *testing.T) {
	for control, want := range map[growth.Control][]string{growth.Act: {"items 5", "items 7", "items 90", "items 10"}, growth.Observe: nil, growth.Off: nil} {
		s := settings()
		s.Control = control
		f := newFixture(s)
		deps := f.deps()
		n := 0
		deps.Partitions = func(_ context.Context, stream string) (int, error) {
			if !strings.HasPrefix(stream, "arn:aws:dynamodb:eu-west-1:123456789012:table/hotshard-items/stream/") {
				t.Errorf("stream %q", stream)
			}
			return n, nil
		}
		var err error
		if f.handler, err = hotkeys.New(s, deps); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			partitions  int
			streamShard string
			later       time.Duration
		}{
			{5, "a", 0}, {6, "b", 59 * time.Second}, {7, "b", 60 * time.Second}, {90, "a", 2 * time.Minute}, {9, "a", 3*time.Minute + 29*time.Second}, {10, "a", 3*time.Minute + 30*time.Second},
		} {
			n, f.now = step.partitions, start.Add(step.later)
			f.must(t, batch{writes: repeat("C#a#0", 1, 1), first: 1, shard: step.streamShard}.payload())
		}
		f.must(t, unwindowed(repeat("C#a#0", 1, 1), 1))
		if !slices.Equal(f.shards.noted, want) {
			t.Errorf("%s: noted %v, want %v", control, f.shards.noted, want)
		}
		var sent []string // the metric of an alarm
		for _, d := range f.sink.Data() {
			if d.Name == "StreamShards" {
				sent = append(sent, fmt.Sprintf("items %v", d.Value))
			}
		}
		if !slices.Equal(sent, want) {
			t.Errorf("%s: sent %v, want %v", control, sent, want)
		}
	}
}

// TestPartitionsUnknown checks that an error is logged and fails no batch.
func TestPartitionsUnknown(t *testing.T) {
	f := newFixture(settings())
	deps := f.deps()
	deps.Partitions = hotkeys.CountPartitions(fakeStream{fail: errPut})
	f.handler, _ = hotkeys.New(settings(), deps)
	f.must(t, batch{writes: repeat("C#a#0", 1, 1), first: 1}.payload())
	f.shards.failNote = errPut
	deps.Partitions = func(context.Context, string) (int, error) { return 7, nil }
	f.handler, _ = hotkeys.New(settings(), deps)
	f.must(t, batch{writes: repeat("C#a#0", 1, 1), first: 1}.payload())
	if strings.Count(f.logs.String(), "partitions not noted") != 2 || len(f.table.items) > 0 {
		t.Errorf("%s", f.logs)
	}
}
