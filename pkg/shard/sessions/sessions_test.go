package sessions_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
)

// TestCountWhileIndexRowsMove checks that Active counts each session once while rows move to other write shards.
func TestCountWhileIndexRowsMove(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	count, now, writer := lane.Runs(60, 120), later, d.store()
	renew := func(from, step int, now time.Time) {
		for i := from; i < count; i += step {
			if _, err := writer.Put(t.Context(), sessions.Lease{Group: "g", ID: fmt.Sprint(i), TTL: time.Hour}, now); err != nil {
				t.Error(err)
				return
			}
		}
	}
	renew(0, 1, now)
	reader, counts := d.reader(d.Client), 0
	for _, n := range []int{4, 9, 2} {
		now = now.Add(10 * time.Second)
		d.pin(t, "g", n, now)
		now = now.Add(10 * time.Second)
		var moving sync.WaitGroup
		done := make(chan struct{})
		for w := range 3 {
			moving.Go(func() { renew(w, 3, now) })
		}
		go func() { moving.Wait(); close(done) }()
		for running := true; running; counts++ {
			select {
			case <-done:
				running = false
			default:
			}
			if got, err := reader.Active(t.Context(), "g", now); err != nil || got != count {
				t.Fatalf("count %d: Active = %d, %v; want %d", counts, got, err, count)
			}
		}
	}
	if counts < 6 {
		t.Errorf("only %d counts during the moves, want 6", counts)
	}
}

// overtaken is a client that calls do between the queries of two write shards.
type overtaken struct {
	*dynamodb.Client
	first, second string
	do            func()
	done          chan struct{}
	once          sync.Once
}

func (b *overtaken) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	place := dynamo.Text(in.ExpressionAttributeValues, ":shard")
	if place == b.second {
		<-b.done
	}
	out, err := b.Client.Query(ctx, in, o...)
	if place == b.first {
		b.once.Do(func() { b.do(); close(b.done) })
	}
	return out, err
}

// TestRowMovedToReadShardIsCounted checks that Active counts a row which moves, during the call, to a write shard that was
// already read. The row is not counted if its session ended then.
func TestRowMovedToReadShardIsCounted(t *testing.T) {
	t.Parallel()
	for ended, want := range map[bool]int{false: 1, true: 0} {
		d := deploy(t)
		s, now := d.store(), later
		lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour} // on write shard 4 of 5
		put(t, s, lease, now)
		d.pin(t, "g", 5, now.Add(10*time.Second))
		now = now.Add(time.Minute)
		move := func() {
			put(t, s, lease, now)
			if ended {
				if err := s.End(libtest.Within(t), "g", "z", now); err != nil {
					t.Error(err)
				}
			}
		}
		client := &overtaken{Client: d.Client, first: "S#g#4", second: "S#g#0", do: move, done: make(chan struct{})}
		if n, err := d.reader(client).Active(libtest.Within(t), "g", now); err != nil || n != want {
			t.Errorf("ended %v: Active = %d, %v; want %d", ended, n, err, want)
		}
	}
}
