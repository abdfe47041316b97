package shardmap

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// hung is a enginetest.MapTable that counts its queries. The next hanging ones don't return before the caller's deadline.
type hung struct {
	*enginetest.MapTable
	made, hanging atomic.Int64
}

func (h *hung) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	h.made.Add(1)
	if h.hanging.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.MapTable.Query(ctx, in, o...)
}

// TestOlderRequestsUseNewestView checks that requests that began before the newest poll make no poll of their own.
func TestOlderRequestsUseNewestView(t *testing.T) {
	q := &hung{MapTable: enginetest.NewMapTable(10, 0, 0)}
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
		t.Errorf("%d polls within ViewAge, want none", polls)
	}
}

// TestViewOfFutureIsRenewed checks that a view whose time is an hour ahead is renewed.
func TestViewOfFutureIsRenewed(t *testing.T) {
	q := &hung{MapTable: enginetest.NewMapTable(10, 0, 0)}
	m, now := New(q, "m", Options{}), time.Unix(1_800_000_000, 0)
	if err := m.Load(t.Context(), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	loaded := q.made.Load()
	if _, err := m.Lookup(t.Context(), "R#k", now); err != nil || q.made.Load() == loaded {
		t.Errorf("%v after %d polls, want a poll", err, q.made.Load()-loaded)
	}
}
