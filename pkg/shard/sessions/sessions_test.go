package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// sessions returns a process of its own that keeps sessions.
func (d *deployment) sessions(client sessions.Client, watch shardmap.Watcher) *sessions.Sessions {
	return sessions.New(client, d.Names.Items, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), sessions.Options{Watch: watch})
}

func textData(s string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"text": &types.AttributeValueMemberS{Value: s}}
}

// put puts a session, which is renewed then or as much later as the call took.
func put(t *testing.T, s *sessions.Sessions, l sessions.Lease, now time.Time) sessions.Session {
	t.Helper()
	one, err := s.Put(wingtest.Within(t), l, now)
	if err != nil {
		t.Fatal(err)
	}
	late := one.Renewed.Sub(now.Truncate(time.Millisecond))
	if late < 0 || late >= slowest || !one.Ends.Equal(one.Renewed.Add(l.TTL)) {
		t.Fatalf("put at %s for %v: %+v", now, l.TTL, one)
	}
	return one
}

// slowest is how long a put may take on a machine that is busy.
const slowest = 20 * time.Second

// checkActive reads a group in all ways, and returns its sessions by id.
func checkActive(t testing.TB, s *sessions.Reader, group string, now time.Time, want int) map[string]sessions.Session {
	t.Helper()
	n, err := s.Active(t.Context(), group, now)
	if err != nil || n != want {
		t.Fatalf("%d active at %s, %v; want %d", n, now.Format(time.StampMilli), err, want)
	}
	all, last := map[string]sessions.Session{}, ""
	for one, err := range s.All(t.Context(), group, now) {
		if err != nil || one.ID <= last {
			t.Fatalf("%q after %q, %v", one.ID, last, err)
		}
		last = one.ID
		all[one.ID] = one
	}
	if len(all) != want {
		t.Fatalf("%d sessions at %s, want %d", len(all), now.Format(time.StampMilli), want)
	}
	return all
}

func TestASessionsLife(t *testing.T) {
	d := deploy(t)
	s := d.sessions(d.Client, shardmap.Unwatched{})
	lease := sessions.Lease{Group: "a#b/é", ID: "~beat", TTL: time.Minute, Data: textData("one")}
	first := put(t, s, lease, wingtest.Later.Add(123*time.Millisecond))
	if !first.Started.Equal(first.Renewed) || first.ID != "~beat" {
		t.Fatalf("begun: %+v", first)
	}
	lease.Data = nil
	one := put(t, s, lease, first.Ends.Add(-2*slowest))
	if !one.Started.Equal(first.Started) || len(one.Data) != 1 {
		t.Fatalf("renewed: %+v", one)
	}
	checkActive(t, s.Reader, "a#b/é", one.Ends.Add(-time.Millisecond), 1)
	checkActive(t, s.Reader, "a#b/é", one.Ends, 0)
	if _, err := s.Get(wingtest.Within(t), "a#b/é", "~beat", one.Ends); !errors.Is(err, shard.ErrNotFound) {
		t.Errorf("looked up after its end: %v", err)
	}
	again := put(t, s, lease, one.Ends) // its item is still there
	if !again.Started.Equal(again.Renewed) || again.Data != nil {
		t.Fatalf("begun anew: %+v", again)
	}
	lease.Data = textData("two")
	now := put(t, s, lease, again.Renewed.Add(100*time.Millisecond)).Renewed
	if got, err := s.Get(wingtest.Within(t), "a#b/é", "~beat", now); err != nil || got.Data["text"].(*types.AttributeValueMemberS).Value != "two" || !got.Started.Equal(again.Started) {
		t.Fatalf("looked up: %+v, %v", got, err)
	}
	for range 2 {
		if err := s.End(wingtest.Within(t), "a#b/é", "~beat", now); err != nil {
			t.Fatal(err)
		}
		checkActive(t, s.Reader, "a#b/é", now, 0)
	}
	if one = put(t, s, sessions.Lease{Group: "a#b/é", ID: "~beat", TTL: time.Hour}, now); one.Data != nil || !one.Started.Equal(one.Renewed) {
		t.Fatalf("begun after its end: %+v", one)
	}
}

// TestWhatIsNoSession in the partitions of a group is not counted.
func TestWhatIsNoSession(t *testing.T) {
	d := deploy(t)
	pk, _ := schema.SessionKey("g", "", 0)
	for _, sk := range []string{schema.ProbeSK, schema.SoleSK} {
		item := map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
			"ends_at": &types.AttributeValueMemberN{Value: fmt.Sprint(wingtest.Later.Add(time.Hour).UnixMilli())},
		}
		if _, err := d.Client.PutItem(wingtest.Within(t), &dynamodb.PutItemInput{TableName: &d.Names.Items, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	checkActive(t, sessions.NewReader(d.Client, d.Names.Items, d.Shards), "g", wingtest.Later, 0)
}

func TestLeasesAreChecked(t *testing.T) {
	d := deploy(t)
	s := d.sessions(d.Client, shardmap.Unwatched{})
	for _, l := range []sessions.Lease{
		{Group: "", ID: "x", TTL: time.Hour}, {Group: "g", ID: "", TTL: time.Hour},
		{Group: "g", ID: "x", TTL: time.Second - 1}, {Group: "g", ID: "x", TTL: sessions.MaxTTL + 1}, {Group: "g", ID: "x"},
	} {
		if _, err := s.Put(wingtest.Within(t), l, wingtest.Later); err == nil {
			t.Errorf("%+v was taken", l)
		}
		if _, _, err := s.PutTransact(wingtest.Within(t), l, wingtest.Later); err == nil {
			t.Errorf("%+v was taken in a transaction", l)
		}
	}
}

// TestSessionsMoveWithTheCount: they are counted once, keep what they have, and leave
// one item each; ended ones are gone from wherever they were.
func TestSessionsMoveWithTheCount(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	s, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
	begun := make([]time.Time, lane.Runs(30, 60))
	for i := range begun {
		begun[i] = put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint("id", i), TTL: time.Hour, Data: textData(fmt.Sprint(i))}, now).Started
	}
	for _, count := range []int{7, 3, 50} {
		now = d.Pin(t, "S#g", count, now).Add(5 * time.Minute)
		checkActive(t, s.Reader, "g", now, len(begun))
		for i := range len(begun) / 2 {
			one := put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint("id", i), TTL: time.Hour}, now)
			if !one.Started.Equal(begun[i]) || len(one.Data) != 1 {
				t.Fatalf("%d write shards: %+v", count, one)
			}
			pk, sk := schema.SessionKey("g", one.ID, shard.Calculated(one.ID, count))
			if len(d.Item(t, pk, sk)) == 0 {
				t.Fatalf("%s is not on the write shard that it has of %d", one.ID, count)
			}
		}
		checkActive(t, s.Reader, "g", now, len(begun))
	}
	for i := range begun {
		if err := s.End(wingtest.Within(t), "g", fmt.Sprint("id", i), now); err != nil {
			t.Fatal(err)
		}
	}
	checkActive(t, s.Reader, "g", now, 0)
}

// TestCountsWhileSessionsMove: each count of sessions that are active all the time is
// right, while all of them move to other write shards.
func TestCountsWhileSessionsMove(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	const pages = 2
	count := lane.Runs(60, 120)
	now := wingtest.Later
	writer := d.sessions(d.Client, shardmap.Unwatched{})
	renew := func(from, step int, now time.Time) {
		for i := from; i < count; i += step {
			if _, err := writer.Put(t.Context(), sessions.Lease{Group: "g", ID: fmt.Sprint(i), TTL: time.Hour}, now); err != nil {
				t.Error(err)
				return
			}
		}
	}
	renew(0, 1, now)
	reader := sessions.NewReader(d.Client, d.Names.Items, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}))
	counts := 0
	for _, n := range []int{4, 9} {
		now = d.Pin(t, "S#g", n, now)
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
				t.Fatalf("count %d: %d, %v; want %d", counts, got, err, count)
			}
		}
	}
	if counts < 2*pages {
		t.Errorf("only %d counts", counts)
	}
}

// between is a client that does something else before each of its updates.
type between struct {
	*dynamodb.Client
	do func()
}

func (b *between) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return b.Client.UpdateItem(ctx, in, o...)
}

// TestALateWriteDoesNotBringBack: a process decides on a write before a change of the
// count, and makes it when another has written the same session after the change.
func TestALateWriteDoesNotBringBack(t *testing.T) {
	t.Parallel()
	const id = "z" // on other write shards of 5 than of 1
	for name, before := range map[string]bool{"a new session": false, "a renewed session": true} {
		d := deploy(t)
		other, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
		if before {
			put(t, other, sessions.Lease{Group: "g", ID: id, TTL: time.Hour}, now)
		}
		var moved sessions.Session
		client := &between{Client: d.Client, do: func() {
			change := d.Pin(t, "S#g", 5, now)
			moved = put(t, other, sessions.Lease{Group: "g", ID: id, TTL: 10 * time.Minute}, change.Add(4*time.Second))
		}}
		late := d.sessions(client, shardmap.Unwatched{})
		if _, err := late.Active(wingtest.Within(t), "g", now); err != nil { // reads the shard map
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := late.Put(ctx, sessions.Lease{Group: "g", ID: id, TTL: 2 * time.Hour}, now)
		cancel()
		if !errors.Is(err, shard.ErrContended) && !errors.Is(err, shard.ErrUnavailable) { // its clock does not reach the change
			t.Errorf("%s: the late write: %v", name, err)
		}
		all := checkActive(t, other.Reader, "g", moved.Renewed.Add(time.Second), 1)
		if !all[id].Ends.Equal(moved.Ends) {
			t.Errorf("%s: ends %v, want %v", name, all[id].Ends, moved.Ends)
		}
		last := put(t, other, sessions.Lease{Group: "g", ID: id, TTL: time.Second}, moved.Ends.Add(-time.Minute))
		checkActive(t, other.Reader, "g", last.Ends, 0)
	}
}
