package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// sessionSchedule plays processes whose clocks differ by up to a second against each
// other, while the shard count changes, and knows what must come out.
type sessionSchedule struct {
	*deployment
	t         testing.TB
	random    *rand.Rand
	now       time.Time
	group     string
	processes []*sessionProcess
	model     map[string]ddb.Session
}

type sessionProcess struct {
	skew     time.Duration
	sessions *ddb.Sessions
	changer  *ddb.MapChanger
	once     *ddb.Once
}

func newSessionSchedule(t testing.TB, d *deployment, seed uint64) *sessionSchedule {
	s := &sessionSchedule{
		deployment: d, t: t, random: rand.New(rand.NewPCG(seed, 0)), now: later,
		group: fmt.Sprintf("group-%d", seed), model: map[string]ddb.Session{},
	}
	for range 3 {
		view := ddb.NewMap(d.client, d.names.ShardMap)
		s.processes = append(s.processes, &sessionProcess{
			skew:     time.Duration(s.random.IntN(1000)-500) * time.Millisecond,
			sessions: ddb.NewSessions(d.client, d.names.Items, view, ddb.Unwatched{}),
			changer:  ddb.NewMapChanger(d.client, view, ddb.ChangerOptions{Cooldown: -1}),
			once:     ddb.NewOnce(d.client, d.names.Items, ddb.Unwatched{}),
		})
	}
	return s
}

// step does one of what comes to a group.
func (s *sessionSchedule) step(i int) error {
	p := s.processes[s.random.IntN(len(s.processes))]
	now := s.now.Add(p.skew)
	id := fmt.Sprint("id", s.random.IntN(12))
	switch n := s.random.IntN(20); {
	case n < 8:
		return s.put(p, id, now, i)
	case n < 11:
		return s.end(p, id, now, i)
	case n < 12:
		_, err := p.changer.Pin(s.t.Context(), "S#"+s.group, 1+s.random.IntN(12), note, now)
		if errors.Is(err, ddb.ErrNoChange) {
			err = nil
		}
		return err
	case n < 14:
		return s.check(p, now)
	}
	pauses := []time.Duration{time.Millisecond, 300 * time.Millisecond, time.Second, 4 * time.Second, 9500 * time.Millisecond, 20 * time.Second, 3 * time.Minute, 20 * time.Minute}
	s.now = s.now.Add(pauses[s.random.IntN(len(pauses))])
	return nil
}

func (s *sessionSchedule) put(p *sessionProcess, id string, now time.Time, i int) error {
	l := ddb.Lease{Group: s.group, ID: id, TTL: time.Duration(1+s.random.IntN(1800)) * time.Second}
	if s.random.IntN(3) == 0 {
		l.Data = text(fmt.Sprint(i))
	}
	got, err := s.lease(p, l, now, i)
	if err != nil {
		return err
	}
	want, held := s.model[id]
	if !held || !want.Ends.After(got.Renewed) {
		want = ddb.Session{Group: s.group, ID: id, Started: got.Renewed}
	}
	if l.Data != nil {
		want.Data = l.Data
	}
	want.Renewed, want.Ends = got.Renewed, got.Renewed.Add(l.TTL)
	if diff := cmp.Diff(show(want), show(got)); diff != "" {
		return fmt.Errorf("put %s at %s: want -, got +\n%s", id, now, diff)
	}
	s.model[id] = want
	return nil
}

// lease puts a session with or without a key.
func (s *sessionSchedule) lease(p *sessionProcess, l ddb.Lease, now time.Time, i int) (got ddb.Session, err error) {
	if s.random.IntN(3) > 0 {
		return p.sessions.Put(s.t.Context(), l, now)
	}
	call := ddb.Call{Key: fmt.Sprint(s.group, i), Digest: []byte("d"), Answer: []byte("a")}
	_, err = p.once.Do(s.t.Context(), call, now, func(ctx context.Context) (actions []types.TransactWriteItem, err error) {
		actions, got, err = p.sessions.PutTransact(ctx, l, now)
		return actions, err
	})
	return got, err
}

func (s *sessionSchedule) end(p *sessionProcess, id string, now time.Time, i int) (err error) {
	delete(s.model, id)
	if s.random.IntN(3) > 0 {
		return p.sessions.End(s.t.Context(), s.group, id, now)
	}
	call := ddb.Call{Key: fmt.Sprint(s.group, i), Digest: []byte("d"), Answer: []byte("a")}
	_, err = p.once.Do(s.t.Context(), call, now, func(ctx context.Context) ([]types.TransactWriteItem, error) {
		return p.sessions.EndTransact(ctx, s.group, id, now)
	})
	return err
}

// check compares all ways of reading with what must be there.
func (s *sessionSchedule) check(p *sessionProcess, now time.Time) error {
	want := map[string]string{}
	for id, one := range s.model {
		if one.Ends.After(now) {
			want[id] = show(one)
		}
	}
	got := map[string]string{}
	for one, err := range p.sessions.All(s.t.Context(), s.group, now) {
		if err != nil || got[one.ID] != "" {
			return fmt.Errorf("%q again, or %w", one.ID, err)
		}
		got[one.ID] = show(one)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("at %s: want -, got +\n%s", now, diff)
	}
	if n, err := p.sessions.Active(s.t.Context(), s.group, now); err != nil || n != len(want) {
		return fmt.Errorf("%d active, %w; want %d", n, err, len(want))
	}
	for id := range s.model {
		one, err := p.sessions.Get(s.t.Context(), s.group, id, now)
		if want[id] == "" && !errors.Is(err, ddb.ErrNotFound) || want[id] != "" && (err != nil || show(one) != want[id]) {
			return fmt.Errorf("%s is %v, %w; want %q", id, one, err, want[id])
		}
	}
	return nil
}

// show is what two sessions are compared by.
func show(s ddb.Session) string {
	data := ""
	if s.Data != nil {
		data = s.Data["text"].(*types.AttributeValueMemberS).Value
	}
	return fmt.Sprintf("%s/%s from %s, renewed %s, to %s: %q", s.Group, s.ID, s.Started.Format(time.StampMilli), s.Renewed.Format(time.StampMilli), s.Ends.Format(time.StampMilli), data)
}

// TestSessionsAreRightWhateverChanges plays random schedules.
func TestSessionsAreRightWhateverChanges(t *testing.T) {
	d := deploy(t)
	first := uint64(time.Now().UnixNano())
	t.Logf("seeds %d and the 14 after it", first)
	for seed := first; seed < first+15; seed++ {
		s := newSessionSchedule(t, d, seed)
		for i := range 80 {
			if err := s.step(i); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
		}
		if err := s.check(s.processes[0], s.now.Add(s.processes[0].skew)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestWritersOfOneSession renew and end it at a time, while it moves, with throttles
// and lost answers. There never is more than one.
func TestWritersOfOneSession(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	random := rand.New(rand.NewPCG(seed, 1))
	client := faulty{&flaky{Client: d.client, before: sometimes(random, 6, hot(tableHot)), after: sometimes(random, 6, lostAnswer{})}}
	now := later
	for round, count := range []int{5, 3, 8} {
		if _, err := d.changer(ddb.ChangerOptions{}).Pin(within(t), "S#g", count, note, now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(11 * time.Second)
		var wg sync.WaitGroup
		for w := range 4 {
			s := d.sessions(client, ddb.Unwatched{})
			wg.Go(func() {
				for i := range 4 {
					err := try(t, func(ctx context.Context) error {
						_, err := s.Put(ctx, ddb.Lease{Group: "g", ID: "z", TTL: time.Hour}, now)
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
		checkActive(t, d.sessions(d.client, ddb.Unwatched{}).SessionReader, "g", now, 1)
	}
	if client.lost == 0 {
		t.Error("no answer was lost")
	}
}

// try repeats a call while DynamoDB fails.
func try(t *testing.T, call func(context.Context) error) (err error) {
	for range 30 {
		if err = call(within(t)); !errors.Is(err, ddb.ErrUnavailable) && !errors.Is(err, ddb.ErrThrottled) {
			return err
		}
	}
	return err
}

// sessionItems counts the items of each session, but for traces.
func (d *deployment) sessionItems(t *testing.T) map[string]int {
	t.Helper()
	out, err := d.client.Scan(within(t), &dynamodb.ScanInput{TableName: &d.names.Items})
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
// one that has been is counted all the same, unless it ended then.
func TestASessionThatMovesBehindTheReading(t *testing.T) {
	for _, ended := range []bool{false, true} {
		d := deploy(t)
		s, now := d.sessions(d.client, ddb.Unwatched{}), later
		lease := ddb.Lease{Group: "g", ID: "z", TTL: time.Hour} // on write shard 4 of 5
		put(t, s, lease, now)
		if _, err := d.changer(ddb.ChangerOptions{}).Pin(within(t), "S#g", 5, note, now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(11 * time.Second)
		move := func() {
			put(t, s, lease, now)
			if ended {
				if err := s.End(within(t), "g", "z", now); err != nil {
					t.Error(err)
				}
			}
		}
		client := &overtaken{Client: d.client, first: "S#g#4", second: "S#g#0", do: move, done: make(chan struct{})}
		want := map[bool]int{false: 1, true: 0}[ended]
		n, err := ddb.NewSessionReader(client, d.names.Items, ddb.NewMap(d.client, d.names.ShardMap)).Active(within(t), "g", now)
		if err != nil || n != want {
			t.Errorf("ended %v: %d active, %v", ended, n, err)
		}
	}
}

// TestSessionsOlderThanTheHistory are found, moved and ended, wherever they may be.
func TestSessionsOlderThanTheHistory(t *testing.T) {
	d := deploy(t)
	d.setShards(t, "S#g", fmt.Sprintf("%d:9", later.Add(-time.Hour).Unix()))
	s, now := d.sessions(d.client, ddb.Unwatched{}), later
	for i := range 20 {
		put(t, s, ddb.Lease{Group: "g", ID: fmt.Sprint(i), TTL: ddb.MaxSessionTTL}, now)
	}
	changer := d.changer(ddb.ChangerOptions{Keep: time.Hour, Cooldown: -1})
	for _, count := range []int{12, 3, 2} {
		now = now.Add(24 * time.Hour)
		if _, err := changer.Pin(within(t), "S#g", count, note, now); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour)
	s = d.sessions(d.client, ddb.Unwatched{})
	checkActive(t, s.SessionReader, "g", now, 20)
	for i := range 20 {
		if i%2 == 0 {
			if one := put(t, s, ddb.Lease{Group: "g", ID: fmt.Sprint(i), TTL: time.Hour}, now); !one.Started.Equal(later) {
				t.Errorf("%+v", one)
			}
		} else if err := s.End(within(t), "g", fmt.Sprint(i), now); err != nil {
			t.Fatal(err)
		}
	}
	checkActive(t, s.SessionReader, "g", now, 10)
}

// TestAGroupsHeatIsTold: what is offered, what a full partition refuses, and what
// failed conditions cost, with and without keys.
func TestAGroupsHeatIsTold(t *testing.T) {
	d := deploy(t)
	d.setShards(t, "S#g", "1:5")
	lease := ddb.Lease{Group: "g", ID: "z", TTL: time.Hour}
	for name, c := range map[string]struct {
		keyed         bool
		reason        string
		offered, fail int
		throttled     []string
	}{
		"taken":            {false, "", 1, 0, nil},
		"keyed":            {true, "", 2, 0, nil},
		"a full partition": {false, tableHot, 1, 0, []string{"S#g 4"}},
		"a full table":     {false, "TableWriteAccountLimitExceeded", 1, 0, nil},
	} {
		w, left := newWatched(), 3
		client := faulty{&flaky{Client: d.client, before: func() error {
			if left--; c.reason != "" && left > 0 {
				return hot(c.reason)
			}
			return nil
		}}}
		s := d.sessions(client, w)
		if c.keyed {
			call := ddb.Call{Key: name, Digest: []byte("d"), Answer: []byte("a")}
			_, err := ddb.NewOnce(client, d.names.Items, w).Do(within(t), call, later, func(ctx context.Context) ([]types.TransactWriteItem, error) {
				actions, _, err := s.PutTransact(ctx, lease, later)
				return actions, err
			})
			if err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, s, lease, later)
		}
		if w.offered["S#g"] != c.offered || len(w.offered) != 1 || w.refused != c.fail || !slices.Equal(slices.Collect(maps.Keys(w.throttled)), c.throttled) {
			t.Errorf("%s: offered %v, refused %d, throttled %v", name, w.offered, w.refused, w.throttled)
		}
	}
}

// TestWhatSessionsCost by the limiter's count.
func TestWhatSessionsCost(t *testing.T) {
	d := deploy(t)
	client, limits := d.limited(t, limiter.Options{Partitions: 64, PartitionWCU: 100_000})
	s := d.sessions(client, ddb.Unwatched{})
	lease := ddb.Lease{Group: "g", ID: "z", TTL: 10 * time.Hour, Data: text("d")}
	type price struct{ Read, Write float64 }
	costs := func(what string, want price, do func()) {
		t.Helper()
		limits.Reset()
		do()
		stats := limits.Stats()
		got := price{Read: stats.ReadUnits}
		for _, space := range stats.Spaces {
			got.Write += space.WriteUnits
		}
		if got != want {
			t.Errorf("%s costs %+v, want %+v", what, got, want)
		}
	}
	checked := func(n int, now time.Time) func() {
		return func() { checkActive(t, s.SessionReader, "g", now, n) }
	}
	now := later
	checked(0, now)() // reads the shard map
	costs("new", price{0, 1}, func() { put(t, s, lease, now) })
	costs("renewed", price{0, 1}, func() { put(t, s, lease, now) })
	costs("counted twice", price{1, 0}, checked(1, now))
	costs("ended", price{0, 1}, func() { _ = s.End(within(t), "g", "z", now) })
	put(t, s, lease, now)
	if _, err := d.changer(ddb.ChangerOptions{}).Pin(within(t), "S#g", 5, note, now); err != nil {
		t.Fatal(err)
	}
	now = now.Add(11 * time.Second)
	_, _ = s.Get(within(t), "g", "z", now) // renews the view
	costs("moved", price{2, 1 + 4}, func() { put(t, s, lease, now) })
	costs("renewed after the change", price{0, 1}, func() { put(t, s, lease, now) })
	lease.ID = "z2"
	costs("new in the minute after", price{2, 1 + 4}, func() { put(t, s, lease, now) })
	now = now.Add(2 * time.Minute)
	_, _ = s.Get(within(t), "g", "z", now)
	lease.ID = "z6"
	costs("new later", price{2, 1 + 1}, func() { put(t, s, lease, now) })
	costs("ended after the change", price{2, 1}, func() { _ = s.End(within(t), "g", "z6", now) })
}
