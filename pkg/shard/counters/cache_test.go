package counters_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// slowTable answers each batch when it is let, with the number of the batch as the
// value of all its counters, or with an error.
type slowTable struct {
	shardmap.Client
	calls atomic.Int64
	keys  atomic.Int64
	let   chan error
}

func (s *slowTable) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	n := s.calls.Add(1)
	select {
	case err := <-s.let:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	for table, asked := range in.RequestItems {
		for _, key := range asked.Keys {
			s.keys.Add(1)
			key["value"] = &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
			out.Responses[table] = append(out.Responses[table], key)
		}
	}
	return out, nil
}

// cached has summaries over a slow table, with an empty shard map.
func cached(t *testing.T, age time.Duration) (*counters.CachedSummaries, *slowTable, time.Time) {
	t.Helper()
	d := deploy(t)
	now := libtest.Later
	if _, err := d.Shards.Lookup(libtest.Within(t), "C#x", now); err != nil {
		t.Fatal(err)
	}
	table := &slowTable{Client: d.Client, let: make(chan error, 100)}
	return counters.NewCachedSummaries(counters.NewSummaries(table, "items", "rollups", d.Shards), age), table, now
}

func (s *slowTable) free(n int) {
	for range n {
		s.let <- nil
	}
}

func values(t *testing.T, c *counters.CachedSummaries, now time.Time, names ...string) (list []int64) {
	t.Helper()
	found, err := c.Read(libtest.Within(t), names, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		if !s.AsOf.Equal(s.ReadAt) || s.ReadAt.After(now) {
			t.Errorf("as of %v, read at %v", s.AsOf, s.ReadAt)
		}
		list = append(list, s.Value.Int64())
		s.Value.SetInt64(-1) // is the caller's own
	}
	return list
}

func TestSummariesAreRememberedForTheirAge(t *testing.T) {
	c, table, now := cached(t, time.Second)
	table.free(10)
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
	if n := table.keys.Load(); n != 2+1+1+1+3 {
		t.Errorf("%d summaries were read", n)
	}
}

func TestAgeZeroRemembersNothing(t *testing.T) {
	c, table, now := cached(t, 0)
	table.free(2)
	for want := int64(1); want <= 2; want++ {
		if got := values(t, c, now, "a"); got[0] != want {
			t.Errorf("got %v, want %d", got, want)
		}
	}
}

// TestThoseWhoMeetReadOnce: 50 callers of one counter make one call.
func TestThoseWhoMeetReadOnce(t *testing.T) {
	c, table, now := cached(t, time.Second)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if got := values(t, c, now, "a"); got[0] != 1 {
				t.Errorf("got %v", got)
			}
		})
	}
	table.free(1)
	wg.Wait()
	if n := table.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestOneWhoFailsFailsAlone: those who waited for a reading that failed read for
// themselves, and those whose time is up don't wait.
func TestOneWhoFailsFailsAlone(t *testing.T) {
	c, table, now := cached(t, time.Minute)
	broken := errors.New("broken")
	failed := make(chan error, 1)
	go func() {
		_, err := c.Read(libtest.Within(t), []string{"a"}, now)
		failed <- err
	}()
	for table.calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Read(impatient, []string{"a"}, now); !errors.Is(err, context.Canceled) {
		t.Errorf("one without time: %v", err)
	}
	waited := make(chan []int64, 1)
	go func() { waited <- values(t, c, now, "a") }()
	table.let <- broken
	if err := <-failed; !errors.Is(err, broken) {
		t.Errorf("the first: %v", err)
	}
	table.free(1)
	if got := <-waited; got[0] != 2 {
		t.Errorf("who waited has %v", got)
	}
}
