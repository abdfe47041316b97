package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestSessionPutRenewExpireEnd checks the times and data of a session that is started, renewed, expired, started again
// and ended.
func TestSessionPutRenewExpireEnd(t *testing.T) {
	t.Parallel()
	s := deploy(t).store()
	lease := sessions.Lease{Group: "a#b/é", ID: "~beat#7", TTL: time.Minute, Data: data("one")}
	first := put(t, s, lease, later.Add(123*time.Millisecond))
	if !first.Started.Equal(first.Renewed) || first.ID != "~beat#7" || first.Group != "a#b/é" {
		t.Fatalf("the first Put returns %+v", first)
	}
	lease.Data = nil
	one := put(t, s, lease, first.Ends.Add(-2*slowest))
	if !one.Started.Equal(first.Started) || len(one.Data) != 1 {
		t.Fatalf("renewed: %+v; want the same Started and data", one)
	}
	check(t, s.Reader, "a#b/é", one.Ends.Add(-time.Millisecond), 1)
	check(t, s.Reader, "a#b/é", one.Ends, 0)
	if _, err := s.Get(libtest.Within(t), "a#b/é", "~beat#7", one.Ends); !errors.Is(err, shard.ErrNotFound) {
		t.Errorf("Get at its end: error %v, want ErrNotFound", err)
	}
	again := put(t, s, lease, one.Ends) // its item still exists
	if !again.Started.Equal(again.Renewed) || again.Data != nil {
		t.Fatalf("started again: %+v; want a new Started and no data", again)
	}
	lease.Data = data("two")
	now := put(t, s, lease, again.Renewed.Add(100*time.Millisecond)).Renewed
	if got, err := s.Get(libtest.Within(t), "a#b/é", "~beat#7", now); err != nil || dynamo.Text(got.Data, "text") != "two" || !got.Started.Equal(again.Started) {
		t.Fatalf("Get = %+v, %v; want data two, started at %v", got, err, again.Started)
	}
	for range 2 {
		require.NoError(t, s.End(libtest.Within(t), "a#b/é", "~beat#7", now))
		check(t, s.Reader, "a#b/é", now, 0)
	}
	if one = put(t, s, sessions.Lease{Group: "a#b/é", ID: "~beat#7", TTL: time.Hour}, now); one.Data != nil || !one.Started.Equal(one.Renewed) {
		t.Fatalf("started after End: %+v; want a new Started and no data", one)
	}
}

// TestGroupsAreSeparate checks that groups are separate whose names joined with ids are equal.
func TestGroupsAreSeparate(t *testing.T) {
	t.Parallel()
	s := deploy(t).store()
	for _, l := range []sessions.Lease{{Group: "a", ID: "b#c"}, {Group: "a#b", ID: "c"}, {Group: "a", ID: "0"}, {Group: "a#0", ID: "0"}, {Group: "a", ID: "0#0"}} {
		l.TTL = time.Hour
		put(t, s, l, later)
	}
	for group, want := range map[string]int{"a": 3, "a#b": 1, "a#0": 1, "b": 0} {
		check(t, s.Reader, group, later.Add(slowest), want)
	}
}

// TestForeignIndexItemsAreNotCounted checks that other items in a group's index partitions are not counted as sessions.
func TestForeignIndexItemsAreNotCounted(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	place := schema.SessionShardKey("g", 0)
	for _, sk := range []string{schema.ProbeSK, schema.SoleSK} {
		enginetest.Put(t, d.Client, d.Names.Items, item{
			"pk": libtest.Str(schema.ProbeSK + "#" + place), "sk": libtest.Str(sk), "session_shard": libtest.Str(place),
			"ends_at": &types.AttributeValueMemberN{Value: fmt.Sprint(later.Add(time.Hour).UnixMilli())},
		})
	}
	check(t, d.reader(d.Client), "g", later, 0)
}

// TestSessionReplacesForeignItem checks that an item with only a session's key is overwritten by
// puts and deleted by End.
func TestSessionReplacesForeignItem(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for _, id := range []string{"put", "keyed", "kept"} {
		pk, sk := schema.SessionKey("g", id)
		enginetest.Put(t, d.Client, d.Names.Items, item{"pk": libtest.Str(pk), "sk": libtest.Str(sk)})
	}
	s := d.store()
	put(t, s, sessions.Lease{Group: "g", ID: "put", TTL: time.Hour}, later)
	err := d.once(libtest.Within(t), d.Client, nil, "key", later, func(ctx context.Context) (shardmap.Write, error) {
		action, _, err := s.PutTransact(ctx, sessions.Lease{Group: "g", ID: "keyed", TTL: time.Hour}, later)
		return action, err
	})
	require.NoError(t, err)
	check(t, s.Reader, "g", later, 2)
	for _, id := range []string{"put", "keyed", "kept"} {
		if err := s.End(libtest.Within(t), "g", id, later); err != nil {
			t.Errorf("End of %s: %v", id, err)
		}
	}
	check(t, s.Reader, "g", later, 0)
}

// TestLeasesAreValidated checks the bounds of groups, ids and TTLs.
func TestLeasesAreValidated(t *testing.T) {
	t.Parallel()
	s := deploy(t).store()
	for _, l := range []sessions.Lease{
		{Group: "", ID: "x", TTL: time.Hour}, {Group: "g", ID: "", TTL: time.Hour},
		{Group: "g", ID: "x", TTL: time.Second - 1}, {Group: "g", ID: "x", TTL: sessions.MaxTTL + 1}, {Group: "g", ID: "x"},
	} {
		if _, err := s.Put(libtest.Within(t), l, later); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("Put of %+v: error %v, want ErrMisused", l, err)
		}
		if _, _, err := s.PutTransact(libtest.Within(t), l, later); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("PutTransact of %+v: error %v, want ErrMisused", l, err)
		}
	}
}

// TestShardCountChangeKeepsSessions checks that sessions are counted once, keep their data and have one item each. Their
// rows in the index move with their next write, even after changes that the history no longer has.
func TestShardCountChangeKeepsSessions(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	s, now := d.store(), later
	begun := make([]time.Time, lane.Runs(30, 60))
	for i := range begun {
		begun[i] = put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint("id", i), TTL: sessions.MaxTTL, Data: data(fmt.Sprint(i))}, now).Started
	}
	for _, count := range []int{7, 3, 50} {
		now = now.Add(24 * time.Hour)
		changer := d.Changer(shardmap.ChangerOptions{Keep: time.Hour})
		libtest.Insist(t, func() error { _, err := changer.Pin(libtest.Within(t), "S#g", count, libtest.Note, now); return err })
		now = now.Add(5 * time.Minute)
		check(t, s.Reader, "g", now, len(begun))
		for i := range len(begun) / 2 {
			one := put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint("id", i), TTL: sessions.MaxTTL}, now)
			if !one.Started.Equal(begun[i]) || len(one.Data) != 1 {
				t.Fatalf("renewed with %d write shards: %+v; want the same Started and data", count, one)
			}
		}
		items := d.items(t)
		for i := range begun {
			id := fmt.Sprint("id", i)
			if len(items["s#"+id]) != 1 {
				t.Fatalf("%s has %d items, want 1", id, len(items["s#"+id]))
			}
			want := schema.SessionShardKey("g", shard.Calculated(id, count))
			if got := dynamo.Text(items["s#"+id][0], "session_shard"); i < len(begun)/2 && got != want || i >= len(begun)/2 && got != "S#g#0" {
				t.Fatalf("%s is on %s; a write with %d write shards moves it to %s", id, got, count, want)
			}
		}
		check(t, s.Reader, "g", now, len(begun))
	}
	for i := range begun {
		require.NoError(t, s.End(libtest.Within(t), "g", fmt.Sprint("id", i), now))
	}
	check(t, s.Reader, "g", now, 0)
	for sk, left := range d.items(t) {
		if len(left) != 1 || len(left[0]) != 4 || left[0]["renewed_at"] == nil || left[0]["expires_at"] == nil {
			t.Errorf("%s after its end: %v; want one mark with its keys, renewed_at and expires_at", sk, left)
		}
	}
}

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

// few is a client whose query pages have few rows.
type few struct {
	*dynamodb.Client
	queries atomic.Int64
}

func (f *few) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if in.Limit != nil {
		f.queries.Add(1)
		short := *in
		*short.Limit = int32(rand.IntN(4) + 1)
		in = &short
	}
	return f.Client.Query(ctx, in, o...)
}

// TestQueryPagesEndAnywhere checks that a group is read in order of ids, wherever the query pages of its write shards end.
func TestQueryPagesEndAnywhere(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	s, now := d.store(), later
	for i := range 25 {
		put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint("old", i), TTL: time.Hour}, now)
		put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint("gone", i), TTL: time.Second}, now)
	}
	d.pin(t, "g", 3, now.Add(10*time.Second))
	now = now.Add(time.Minute)
	for i := range 25 {
		put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint("new", i), TTL: time.Hour}, now)
	}
	client := &few{Client: d.Client}
	check(t, d.reader(client), "g", now.Add(slowest), 50)
	if client.queries.Load() < 50 {
		t.Errorf("%d queries, want at least 50", client.queries.Load())
	}
}

// TestConcurrentWritersOfOneSession checks that a session has one item after concurrent writers renewed and ended it. The
// shard count changes meanwhile, and writes are throttled or have unknown outcomes.
func TestConcurrentWritersOfOneSession(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d, now := deploy(t), later
	random := rand.New(rand.NewPCG(seed, 1))
	client := d.faulty(libtest.Sometimes(random, 6, libtest.Hot(libtest.IndexHot)), libtest.Sometimes(random, 6, libtest.LostAnswer{}))
	lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}
	for round, count := range []int{5, 3, 8} {
		now = now.Add(time.Minute)
		d.pin(t, "g", count, now)
		var wg sync.WaitGroup
		for w := range 4 {
			s := d.process(client, nil)
			wg.Go(func() {
				for i := range 4 {
					err := insist(t, func(ctx context.Context) error {
						if i%2 == 0 {
							_, err := s.Put(ctx, lease, now)
							return err
						}
						return d.once(ctx, client, nil, fmt.Sprint(round, w, i), now, func(ctx context.Context) (shardmap.Write, error) {
							action, _, err := s.PutTransact(ctx, lease, now)
							return action, err
						})
					})
					if err == nil && w == 0 && i == 1 {
						err = insist(t, func(ctx context.Context) error { return s.End(ctx, "g", "z", now) })
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := len(d.items(t)["s#z"]); n != 1 {
			t.Fatalf("round %d: the session has %d items, want 1", round, n)
		}
		check(t, d.reader(d.Client), "g", now.Add(slowest), 1)
	}
	if client.Lost == 0 {
		t.Error("no write had an unknown outcome")
	}
}

// TestKeyedPutRetriesAfterConcurrentChange checks that a keyed put reads the session again if another
// call changed it between the put's read and write.
func TestKeyedPutRetriesAfterConcurrentChange(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	s, tries := d.store(), 0
	lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}
	put(t, s, lease, later)
	var returned sessions.Session
	err := d.once(libtest.Within(t), d.Client, nil, "k", later, func(ctx context.Context) (action shardmap.Write, err error) {
		action, returned, err = s.PutTransact(ctx, lease, later.Add(time.Minute))
		if tries++; tries == 1 {
			if err := s.End(ctx, "g", "z", later); err != nil {
				t.Error(err)
			}
		}
		return action, err
	})
	got := check(t, s.Reader, "g", later.Add(time.Minute), 1)["z"]
	if err != nil || tries < 2 || !returned.Started.Equal(returned.Renewed) || show(got) != show(returned) {
		t.Errorf("%d tries, %v: returned %s, stored %s; want a retry, and both equal", tries, err, show(returned), show(got))
	}
}
