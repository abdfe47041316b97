package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestWritersOfOneSession renew and end it at a time, while it moves, with throttles
// and lost answers. There never is more than one.
func TestWritersOfOneSession(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	random := rand.New(rand.NewPCG(seed, 1))
	client := wingtest.Faulty{Flaky: &wingtest.Flaky{Client: d.Client, Before: wingtest.Sometimes(random, 6, wingtest.Hot(wingtest.TableHot)), After: wingtest.Sometimes(random, 6, wingtest.LostAnswer{})}}
	now := wingtest.Later
	for round, count := range []int{5, 3, 8} {
		now = d.Pin(t, "S#g", count, now)
		var wg sync.WaitGroup
		for w := range 4 {
			s := d.sessions(client, shardmap.Unwatched{})
			wg.Go(func() {
				for i := range 4 {
					err := try(t, func(ctx context.Context) error {
						_, err := s.Put(ctx, sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}, now)
						return err
					})
					if err == nil && w == 0 && i == 1 {
						err = try(t, func(ctx context.Context) error { return s.End(ctx, "g", "z", now) })
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, n := range d.sessionItems(t) {
			if n > 1 {
				t.Fatalf("round %d: an id has %d items", round, n)
			}
		}
		checkActive(t, d.sessions(d.Client, shardmap.Unwatched{}).Reader, "g", now, 1)
	}
	if client.Lost == 0 {
		t.Error("no answer was lost")
	}
}

// try repeats a call while DynamoDB fails.
func try(t *testing.T, call func(context.Context) error) (err error) {
	for range 30 {
		if err = call(wingtest.Within(t)); !errors.Is(err, shard.ErrUnavailable) && !errors.Is(err, shard.ErrThrottled) {
			return err
		}
	}
	return err
}

// sessionItems counts the items of each session, but for traces.
func (d *deployment) sessionItems(t *testing.T) map[string]int {
	t.Helper()
	out, err := d.Client.Scan(wingtest.Within(t), &dynamodb.ScanInput{TableName: &d.Names.Items})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, it := range out.Items {
		sk := it["sk"].(*types.AttributeValueMemberS).Value
		if _, trace := it["moved"]; !trace && strings.HasPrefix(sk, "s#") {
			found[sk]++
		}
	}
	return found
}

// overtaken is a client that does something between the query of one partition and that
// of another.
type overtaken struct {
	*dynamodb.Client
	first, second string
	do            func()
	done          chan struct{}
}

func (b *overtaken) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	pk := in.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS).Value
	if pk == b.second {
		<-b.done
	}
	out, err := b.Client.Query(ctx, in, o...)
	if pk == b.first {
		b.do()
		close(b.done)
	}
	return out, err
}

// TestASessionThatMovesBehindTheReading from a write shard that is yet to be read to
// one that has been is counted all the same, unless it ended then; also when the call
// that moves it began half a minute before the reading.
func TestASessionThatMovesBehindTheReading(t *testing.T) {
	for _, c := range []struct {
		ended bool
		slow  time.Duration
	}{{false, 0}, {true, 0}, {false, 30 * time.Second}} {
		d := deploy(t)
		s, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
		lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour} // on write shard 4 of 5
		put(t, s, lease, now)
		now = d.Pin(t, "S#g", 5, now)
		move := func() {
			put(t, s, lease, now)
			if c.ended {
				if err := s.End(wingtest.Within(t), "g", "z", now); err != nil {
					t.Error(err)
				}
			}
		}
		client := &overtaken{Client: d.Client, first: "S#g#4", second: "S#g#0", do: move, done: make(chan struct{})}
		want := map[bool]int{false: 1, true: 0}[c.ended]
		n, err := sessions.NewReader(client, d.Names.Items, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})).Active(wingtest.Within(t), "g", now.Add(c.slow))
		if err != nil || n != want {
			t.Errorf("%+v: %d active, %v", c, n, err)
		}
	}
}

// TestSessionsOlderThanTheHistory are found, moved and ended, wherever they may be.
func TestSessionsOlderThanTheHistory(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "S#g", fmt.Sprintf("%d:9", wingtest.Later.Add(-time.Hour).Unix()))
	s, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
	begun := make([]time.Time, 20)
	for i := range begun {
		begun[i] = put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint(i), TTL: sessions.MaxTTL}, now).Started
	}
	changer := d.Changer(shardmap.ChangerOptions{Keep: time.Hour})
	for _, count := range []int{12, 3, 2} {
		now = now.Add(24 * time.Hour)
		if _, err := changer.Pin(wingtest.Within(t), "S#g", count, wingtest.Note, now); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour)
	s = d.sessions(d.Client, shardmap.Unwatched{})
	checkActive(t, s.Reader, "g", now, 20)
	for i := range 20 {
		if i%2 == 0 {
			if one := put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint(i), TTL: time.Hour}, now); !one.Started.Equal(begun[i]) {
				t.Errorf("%+v", one)
			}
		} else if err := s.End(wingtest.Within(t), "g", fmt.Sprint(i), now); err != nil {
			t.Fatal(err)
		}
	}
	checkActive(t, s.Reader, "g", now, 10)
}
