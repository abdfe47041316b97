package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// torn is a client that reads one partition's keys of a batch before the others', with
// something in between: DynamoDB does not read a batch at one moment.
type torn struct {
	*dynamodb.Client
	first string
	do    func()
}

func (c *torn) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	do := c.do
	if do == nil {
		return c.Client.BatchGetItem(ctx, in, o...)
	}
	c.do = nil
	now, later := map[string]types.KeysAndAttributes{}, map[string]types.KeysAndAttributes{}
	for table, all := range in.RequestItems {
		a, b := all, all
		a.Keys, b.Keys = nil, nil
		for _, key := range all.Keys {
			if key["pk"].(*types.AttributeValueMemberS).Value == c.first {
				a.Keys = append(a.Keys, key)
			} else {
				b.Keys = append(b.Keys, key)
			}
		}
		now[table], later[table] = a, b
	}
	out, err := c.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: now}, o...)
	if err == nil {
		do()
		out.UnprocessedKeys = later
	}
	return out, err
}

// TestASessionIsFoundWhileItMoves from the place that is read last to the one that was
// read first, by all who look for one.
func TestASessionIsFoundWhileItMoves(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(context.Context, *deployment, *sessions.Sessions, time.Time) (ended bool, err error){
		"looked up": func(ctx context.Context, _ *deployment, s *sessions.Sessions, now time.Time) (bool, error) {
			_, err := s.Get(ctx, "g", "z", now)
			return false, err
		},
		"ended": func(ctx context.Context, _ *deployment, s *sessions.Sessions, now time.Time) (bool, error) {
			return true, s.End(ctx, "g", "z", now)
		},
		"ended with a key": func(ctx context.Context, d *deployment, s *sessions.Sessions, now time.Time) (bool, error) {
			call := once.Call{Key: "k", Digest: []byte("d"), Answer: []byte("a")}
			_, err := once.New(d.Client, d.Names.Items, d.Shards, once.Options{}).Do(ctx, call, now, func(ctx context.Context) ([]types.TransactWriteItem, error) {
				return s.EndTransact(ctx, "g", "z", now)
			})
			return true, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t)
			other, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
			lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour} // on write shard 4 of 5
			put(t, other, lease, now)
			now = d.Pin(t, "S#g", 5, now).Add(3 * time.Minute)
			client := &torn{Client: d.Client, first: "S#g#4", do: func() { put(t, other, lease, now) }}
			ended, err := use(wingtest.Within(t), d, d.sessions(client, shardmap.Unwatched{}), now)
			if err != nil || client.do != nil {
				t.Fatalf("an active session: %v", err)
			}
			if _, err := other.Get(wingtest.Within(t), "g", "z", now); errors.Is(err, shard.ErrNotFound) != ended {
				t.Errorf("ended %v, and then: %v", ended, err)
			}
		})
	}
}

// TestASessionBeyondOnesClock has moved by a count that is not in force yet for a
// process whose clock is far behind: that is no missing session.
func TestASessionBeyondOnesClock(t *testing.T) {
	d := deploy(t)
	other, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
	put(t, other, sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}, now)
	change := d.Pin(t, "S#g", 5, now)
	put(t, other, sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}, change)
	behind := d.sessions(d.Client, shardmap.Unwatched{})
	if got, err := behind.Get(wingtest.Within(t), "g", "z", change.Add(-6*time.Second)); !errors.Is(err, shard.ErrUnavailable) || errors.Is(err, shard.ErrThrottled) {
		t.Errorf("looked up: %+v, %v", got, err)
	}
	if got, err := behind.Get(wingtest.Within(t), "g", "z", change.Add(-2*time.Second)); err != nil {
		t.Errorf("looked up by a clock that is two seconds behind: %+v, %v", got, err)
	}
}

// lateEnd is a client that does something else before each of its deletes.
type lateEnd struct {
	*dynamodb.Client
	do func()
}

func (c *lateEnd) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if do := c.do; do != nil {
		c.do = nil
		do()
	}
	return c.Client.DeleteItem(ctx, in, o...)
}

// TestALateEndDoesNotMiss: a process decides on an end before a change of the count,
// and makes it when the session has moved.
func TestALateEndDoesNotMiss(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	other, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
	lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}
	put(t, other, lease, now)
	change := d.Pin(t, "S#g", 5, now)
	w := wingtest.NewWatched()
	client := &lateEnd{Client: d.Client, do: func() { put(t, other, lease, change) }}
	// The change comes near while the end is tried again, by the process's own clock.
	if err := d.sessions(client, w).End(wingtest.Within(t), "g", "z", change.Add(-3500*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Get(wingtest.Within(t), "g", "z", change.Add(time.Second)); !errors.Is(err, shard.ErrNotFound) {
		t.Errorf("after its end: %+v, %v", got, err)
	}
	if len(w.Attempts) < 2 || w.ByKey["S#g"] != 1 {
		t.Errorf("told of %v, %v", w.ByKey, w.Told())
	}
	if len(d.Item(t, "S#g#0", "s#z")) == 0 {
		t.Error("the trace is gone")
	}
	if err := d.sessions(d.Client, shardmap.Unwatched{}).End(wingtest.Within(t), "g", "never", wingtest.Later.Add(800*time.Hour)); err != nil {
		t.Errorf("an end of a session that never was: %v", err)
	}
}

// TestAnOldTraceKeepsNoEndUp: one that TTL has not removed is no obstacle.
func TestAnOldTraceKeepsNoEndUp(t *testing.T) {
	d := deploy(t)
	_, err := d.Client.PutItem(wingtest.Within(t), &dynamodb.PutItemInput{TableName: &d.Names.Items, Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "S#g#0"}, "sk": &types.AttributeValueMemberS{Value: "s#z"},
		"moved": &types.AttributeValueMemberN{Value: "3"}, "rev": &types.AttributeValueMemberN{Value: "5"},
		"ends_at": &types.AttributeValueMemberN{Value: fmt.Sprint(wingtest.Later.UnixMilli())},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.sessions(d.Client, shardmap.Unwatched{}).End(wingtest.Within(t), "g", "z", wingtest.Later); err != nil {
		t.Error(err)
	}
}

// TestASlowWriteIsLookedAfter: a process decides on a write before a change, and it is
// made so much later that others leave nothing against it any more. It goes where it
// belongs then.
func TestASlowWriteIsLookedAfter(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	other, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
	client := &between{Client: d.Client, do: func() {
		if _, err := d.Changer(shardmap.ChangerOptions{}).Pin(wingtest.Within(t), "S#g", 5, wingtest.Note, now.Add(-3*time.Second)); err != nil {
			t.Error(err)
		}
		put(t, other, sessions.Lease{Group: "g", ID: "z", TTL: time.Second}, now.Add(15*time.Second))
		time.Sleep(3100 * time.Millisecond)
	}}
	slow := put(t, d.sessions(client, shardmap.Unwatched{}), sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}, now)
	if n := d.sessionItems(t); n["s#z"] != 1 || len(d.Item(t, "S#g#4", "s#z")) == 0 {
		t.Errorf("its items: %v", n)
	}
	if got := checkActive(t, other.Reader, "g", now.Add(20*time.Second), 1)["z"]; !got.Ends.Equal(slow.Ends) || slow.Ends.Before(now.Add(time.Hour+3*time.Second)) {
		t.Errorf("%+v, and it was told %+v", got, slow)
	}
}

// TestLateWritesAreOnlyExpectedForAWhile: after that, new sessions leave nothing on the
// partitions that the group has outgrown.
func TestLateWritesAreOnlyExpectedForAWhile(t *testing.T) {
	d := deploy(t)
	s, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
	change, err := d.Changer(shardmap.ChangerOptions{}).Pin(wingtest.Within(t), "S#g", 5, wingtest.Note, now)
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]bool{-3: false, -2: true, 0: true, 4: true, 5: false, 59: false} {
		id := fmt.Sprint("id", after)
		for i := 0; shard.Calculated(id, 5) == 0; i++ {
			id = fmt.Sprint("id", after, i)
		}
		put(t, s, sessions.Lease{Group: "g", ID: id, TTL: time.Hour}, change.Effective().Add(after*time.Second))
		traces := 0
		for n := range 5 {
			if _, trace := d.Item(t, fmt.Sprintf("S#g#%d", n), "s#"+id)["moved"]; trace {
				traces++
			}
		}
		if traces > 1 || (traces == 1) != want {
			t.Errorf("%d s after the change: %d traces", after, traces)
		}
	}
}

// TestNewSessionsAroundAChange are begun at a time by two processes, of which one
// goes by the new count already and the other by the old: each has one item.
func TestNewSessionsAroundAChange(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	change, err := d.Changer(shardmap.ChangerOptions{}).Pin(wingtest.Within(t), "S#g", 5, wingtest.Note, wingtest.Later)
	if err != nil {
		t.Fatal(err)
	}
	const ids = 30
	var wg sync.WaitGroup
	for _, clock := range []time.Duration{-1500 * time.Millisecond, 500 * time.Millisecond} {
		s := d.sessions(d.Client, shardmap.Unwatched{})
		wg.Go(func() {
			for i := range ids {
				l := sessions.Lease{Group: "g", ID: fmt.Sprint(i), TTL: time.Hour}
				if err := try(t, func(ctx context.Context) error { _, err := s.Put(ctx, l, change.Effective().Add(clock)); return err }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	items := d.sessionItems(t)
	for id, n := range items {
		if n != 1 {
			t.Errorf("%s has %d items", id, n)
		}
	}
	if len(items) != ids {
		t.Errorf("%d sessions", len(items))
	}
	checkActive(t, d.sessions(d.Client, shardmap.Unwatched{}).Reader, "g", change.Effective().Add(time.Second), ids)
}

// TestEachWriteOfASessionIsTold, whatever it takes, as of one request.
func TestEachWriteOfASessionIsTold(t *testing.T) {
	d := deploy(t)
	lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}
	told := func(what string, do func(*sessions.Sessions), want ...string) {
		t.Helper()
		w := wingtest.NewWatched()
		do(d.sessions(d.Client, w))
		if got := w.Told(); w.ByKey["S#g"] != 1 || !slices.Equal(got, want) {
			t.Errorf("%s: told of %v, %v; want %v", what, w.ByKey, got, want)
		}
	}
	end := func(now time.Time) func(*sessions.Sessions) {
		return func(s *sessions.Sessions) {
			if err := s.End(wingtest.Within(t), "g", "z", now); err != nil {
				t.Error(err)
			}
		}
	}
	now := wingtest.Later
	told("begun", func(s *sessions.Sessions) { put(t, s, lease, now) }, "S#g 0 taken by 0")
	told("renewed", func(s *sessions.Sessions) { put(t, s, lease, now) }, "S#g 0 taken by 0")
	told("ended", end(now), "S#g 0 taken by 0")
	put(t, d.sessions(d.Client, shardmap.Unwatched{}), lease, now)
	now = d.Pin(t, "S#g", 5, now).Add(time.Minute)
	told("moved", func(s *sessions.Sessions) { put(t, s, lease, now) }, "S#g 0 taken by 1", "S#g 4 taken by 1")
	told("ended after a change", end(now), "S#g 4 taken by 1")
}
