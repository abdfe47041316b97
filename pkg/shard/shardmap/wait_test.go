package shardmap

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// queries is an empty shard map that counts its queries, and may let one hang.
type queries struct {
	made atomic.Int64
	hang int64 // the number of the one that hangs; 0 is none
}

func (*queries) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

func (q *queries) Query(ctx context.Context, _ *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if q.made.Add(1) == q.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &dynamodb.QueryOutput{}, nil
}

// TestAHungPollIsMadeAgain checks that a hanging poll is repeated within one request's deadline.
func TestAHungPollIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queries{}
		m := New(q, "m", Options{})
		if err := m.Load(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		q.hang = q.made.Load() + 1
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := m.Lookup(ctx, "E#e", time.Now()); err != nil || q.made.Load() != q.hang+1 {
			t.Errorf("%v after %d queries", err, q.made.Load())
		}
	})
}

// TestRequestsOfDifferentTimesShareAView checks that a request that waited, and has the time of its begin,
// uses the newest view.
func TestRequestsOfDifferentTimesShareAView(t *testing.T) {
	q := &queries{}
	m, now := New(q, "m", Options{}), time.Unix(1_800_000_000, 0)
	if err := m.Load(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	loaded := q.made.Load()
	for range 10 {
		for _, at := range []time.Time{now.Add(-1500 * time.Millisecond), now, now.Add(-25 * time.Second)} {
			if _, err := m.Lookup(t.Context(), "R#k", at); err != nil {
				t.Fatal(err)
			}
		}
	}
	if polls := q.made.Load() - loaded; polls != 0 {
		t.Errorf("%d polls within the age of a view", polls)
	}
}

// TestAnotherClocksViewIsRenewed checks that a view from far in the future is renewed.
func TestAnotherClocksViewIsRenewed(t *testing.T) {
	q := &queries{}
	m, now := New(q, "m", Options{}), time.Unix(1_800_000_000, 0)
	if err := m.Load(t.Context(), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	loaded := q.made.Load()
	if _, err := m.Lookup(t.Context(), "R#k", now); err != nil || q.made.Load() == loaded {
		t.Errorf("%v, %d polls", err, q.made.Load()-loaded)
	}
}
