package load_test

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/load"
	"github.com/hotshard/hotshard/internal/workload"
)

type attributes = map[string]types.AttributeValue

// bare records the keys of a baseline's writes, and keeps a board's entries.
type bare struct {
	gets, puts, updates, outrun atomic.Int32
	wrong                       atomic.Value
	mu                          sync.Mutex
	entries                     map[string]attributes // by partition key
}

func text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

func (b *bare) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gets.Add(1)
	if !*in.ConsistentRead || text(in.Key["sk"]) != "b" {
		b.wrong.Store(text(in.Key["pk"]))
	}
	return &dynamodb.GetItemOutput{Item: b.entries[text(in.Key["pk"])]}, nil
}

// putEntry puts an entry, if the one that is there is as the condition says.
func (b *bare) putEntry(in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pk := text(in.Item["pk"])
	held := b.entries[pk]
	if (held == nil) != (*in.ConditionExpression == "attribute_not_exists(pk)") || text(held["rev"]) != text(in.ExpressionAttributeValues[":rev"]) {
		b.outrun.Add(1)
		return nil, &types.ConditionalCheckFailedException{Item: held}
	}
	if !strings.HasPrefix(pk, "L#b#all#") || text(in.Item["sk"]) != "b" || text(in.Item["board_shard"]) != "L#b#all#0" ||
		!strings.HasSuffix(text(in.Item["rank_key"]), "#"+strings.TrimPrefix(pk, "L#b#all#")) {
		b.wrong.Store(pk)
	}
	b.entries[pk] = in.Item
	return &dynamodb.PutItemOutput{}, nil
}

func (b *bare) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	pk, sk := text(in.Item["pk"]), text(in.Item["sk"])
	if strings.HasPrefix(pk, "L#") {
		return b.putEntry(in)
	}
	b.puts.Add(1)
	if !strings.HasPrefix(pk, "E#") || !strings.HasSuffix(pk, "-05-17#0") || !strings.HasPrefix(sk, "2015-05-17T") {
		b.wrong.Store(pk + " " + sk)
	}
	return &dynamodb.PutItemOutput{}, nil
}

func (b *bare) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if b.updates.Add(1) == 60 {
		return nil, errors.New("no engine")
	}
	pk := text(in.Key["pk"])
	if !strings.HasPrefix(pk, "C#/") || !strings.HasSuffix(pk, "#0") {
		b.wrong.Store(pk)
	}
	return &dynamodb.UpdateItemOutput{}, nil
}

func TestBaselineMakesTheSameWrites(t *testing.T) {
	f, b := newFake(t), &bare{}
	o := load.Options{Source: logged(t, 50), Bare: &load.Bare{Client: b, Table: "t"}}
	result := run(t, f, o)
	wantClean(t, result, 50)
	if b.puts.Load() != 50 || b.updates.Load() != 50 || b.wrong.Load() != nil {
		t.Errorf("%d puts, %d updates, wrong key %v", b.puts.Load(), b.updates.Load(), b.wrong.Load())
	}
	if result.Baseline == nil || result.Baseline.PerSecond <= 0 || result.Baseline.Ratio <= 0 {
		t.Errorf("baseline = %+v", result.Baseline)
	}
	o.Target = f.URL
	_, err := load.Run(t.Context(), o)
	wantError(t, err, "baseline: counter", "no engine")
}

// scores are those of the entries, by player.
func (b *bare) scores() map[string]int64 {
	scores := map[string]int64{}
	for pk, entry := range b.entries {
		scores[strings.TrimPrefix(pk, "L#b#all#")], _ = strconv.ParseInt(text(entry["score"]), 10, 64)
	}
	return scores
}

func sums(source workload.Source) map[string]int64 {
	scores := map[string]int64{}
	for r := range source.Requests() {
		scores[r.Client] += r.Bytes
	}
	return scores
}

func TestBaselineAddsScoresUp(t *testing.T) {
	t.Parallel()
	f, b := newFake(t), &bare{entries: map[string]attributes{}}
	source := logged(t, 59)
	wantClean(t, run(t, f, load.Options{Source: source, Board: "b", Bare: &load.Bare{Client: b, Table: "t"}}), 59)
	if got, want := b.scores(), sums(source); !maps.Equal(got, want) || b.gets.Load() != 59 || b.wrong.Load() != nil {
		t.Errorf("%d reads, wrong %v: %v, want %v", b.gets.Load(), b.wrong.Load(), got, want)
	}
}

// lateReads sees no entries.
type lateReads struct{ *bare }

func (lateReads) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

// TestBaselineGoesOnFromWhatOthersWrote since it read the entry.
func TestBaselineGoesOnFromWhatOthersWrote(t *testing.T) {
	f, b := newFake(t), &bare{entries: map[string]attributes{}}
	source := generated(t, workload.Viral, 50)
	run(t, f, load.Options{Source: source, Board: "b", Bare: &load.Bare{Client: lateReads{b}, Table: "t"}})
	if got, want := b.scores(), sums(source); !maps.Equal(got, want) || b.outrun.Load() == 0 {
		t.Errorf("%v, want %v; outrun %d times", got, want, b.outrun.Load())
	}
}
