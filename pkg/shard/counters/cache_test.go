package counters_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

var errBroken = errors.New("broken")

// countedTable is a table in which all counters have the number of the batch that reads them as their value. The batch
// number fail fails.
type countedTable struct{ calls, keys, fail int }

func (s *countedTable) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	s.calls++
	if s.calls == s.fail {
		return nil, errBroken
	}
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	for table, asked := range in.RequestItems {
		for _, key := range asked.Keys {
			s.keys++
			key["value"] = &types.AttributeValueMemberN{Value: fmt.Sprint(s.calls)}
			out.Responses[table] = append(out.Responses[table], key)
		}
	}
	return out, nil
}

// cached returns cached summaries of a countedTable with an empty shard map.
func cached(t *testing.T, age time.Duration) (*counters.CachedSummaries, *countedTable, time.Time) {
	t.Helper()
	table := &countedTable{}
	return counters.NewCachedSummaries(counters.NewSummaries(table, "items", "rollups", libtest.EmptyMap()), age), table, libtest.Later
}

// values reads counters and returns their values.
func values(t *testing.T, c *counters.CachedSummaries, now time.Time, names ...string) (list []int64) {
	t.Helper()
	found, err := c.Read(t.Context(), names, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		if !s.AsOf.Equal(s.ReadAt) || s.ReadAt.After(now) {
			t.Errorf("AsOf %v and ReadAt %v, want equal times until %v", s.AsOf, s.ReadAt, now)
		}
		list = append(list, s.Value.Int64())
		s.Value.SetInt64(-1) // must not change the cache
	}
	return list
}

// TestSummariesAreCachedForTheirAge checks that each counter is read once within the cache's age.
func TestSummariesAreCachedForTheirAge(t *testing.T) {
	c, table, now := cached(t, time.Second)
	for _, step := range []struct {
		after time.Duration
		names []string
		want  []int64
	}{
		{0, []string{"a", "b", "a"}, []int64{1, 1, 1}},
		{time.Second, []string{"a", "b"}, []int64{1, 1}},
		{time.Second, []string{"a", "c"}, []int64{1, 2}},
		{1001 * time.Millisecond, []string{"a", "c"}, []int64{3, 2}},
		{1001 * time.Millisecond, []string{"b"}, []int64{4}},
		{2002 * time.Millisecond, []string{"a", "b", "c"}, []int64{5, 5, 5}},
	} {
		if got := values(t, c, now.Add(step.after), step.names...); fmt.Sprint(got) != fmt.Sprint(step.want) {
			t.Errorf("%q after %v: %v, want %v", step.names, step.after, got, step.want)
		}
	}
	if n := table.keys; n != 2+1+1+1+3 {
		t.Errorf("%d summaries were read, want 8", n)
	}
}

// TestAgeZeroDisablesCache checks that each call reads with an age of 0.
func TestAgeZeroDisablesCache(t *testing.T) {
	c, _, now := cached(t, 0)
	for want := int64(1); want <= 2; want++ {
		if got := values(t, c, now, "a"); got[0] != want {
			t.Errorf("got %v, want %d", got, want)
		}
	}
}

// TestAFailedReadIsNotCached checks that the call after a failed one reads only what is not cached.
func TestAFailedReadIsNotCached(t *testing.T) {
	c, table, now := cached(t, time.Minute)
	table.fail = 2
	values(t, c, now, "a")
	if _, err := c.Read(t.Context(), []string{"a", "b"}, now); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
	if got := values(t, c, now, "b", "a"); got[0] != 3 || got[1] != 1 {
		t.Errorf("got %v, want [3 1]", got)
	}
}
