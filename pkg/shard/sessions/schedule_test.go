package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// schedule runs processes whose clocks differ by up to a second, while the shard count changes and writes are throttled or
// have unknown outcomes. The field model has the expected sessions by id.
type schedule struct {
	*deployment
	t         testing.TB
	random    *rand.Rand
	now       time.Time
	group     string
	processes []*process
	model     map[string]sessions.Session
}

type process struct {
	skew    time.Duration
	client  libtest.Faulty
	store   *sessions.Store
	changer *shardmap.Changer
	once    *once.Applier
}

func newSchedule(t testing.TB, d *deployment, seed uint64) *schedule {
	s := &schedule{
		deployment: d, t: t, random: rand.New(rand.NewPCG(seed, 0)), now: later,
		group: fmt.Sprintf("group-%d", seed), model: map[string]sessions.Session{},
	}
	for range 3 {
		view := d.view()
		client := libtest.Faulty{Flaky: &libtest.Flaky{Client: d.Client, Before: libtest.Sometimes(s.random, 20, libtest.Hot(libtest.IndexHot))}}
		changer := libtest.Patient(shardmap.NewChanger(d.Client, view, shardmap.ChangerOptions{}))
		s.processes = append(s.processes, &process{
			skew:    time.Duration(s.random.IntN(1000)-500) * time.Millisecond,
			client:  client,
			store:   sessions.New(client, d.Names.Items, view, sessions.Options{}),
			changer: changer,
			once:    once.New(client, d.Names.Items, once.Options{}),
		})
	}
	return s
}

// step takes one random step on the group.
func (s *schedule) step(i int) error {
	p := s.processes[s.random.IntN(len(s.processes))]
	now := s.now.Add(p.skew)
	id := fmt.Sprint("id", s.random.IntN(12))
	switch n := s.random.IntN(20); {
	case n < 8:
		return s.put(p, id, now, i)
	case n < 11:
		return s.end(p, id, now, i)
	case n < 12:
		count := 1 + s.random.IntN(12)
		return insist(s.t, func(ctx context.Context) error {
			_, err := p.changer.Pin(ctx, "S#"+s.group, count, libtest.Note, now)
			return err
		})
	case n < 14:
		return s.check(p, now)
	}
	pauses := []time.Duration{time.Millisecond, 300 * time.Millisecond, time.Second, 4 * time.Second, 9500 * time.Millisecond, 20 * time.Second, 3 * time.Minute, 20 * time.Minute}
	s.now = s.now.Add(pauses[s.random.IntN(len(pauses))])
	return nil
}

// put puts a session and compares the result with the model.
func (s *schedule) put(p *process, id string, now time.Time, i int) error {
	l := sessions.Lease{Group: s.group, ID: id, TTL: time.Duration(1+s.random.IntN(1800)) * time.Second}
	if s.random.IntN(3) == 0 {
		l.Data = data(fmt.Sprint(i))
	}
	got, err := s.lease(p, l, now, i)
	if err != nil {
		return err
	}
	want, held := s.model[id]
	if !held || !want.Ends.After(got.Renewed) {
		want = sessions.Session{Group: s.group, ID: id, Started: got.Renewed}
	}
	if l.Data != nil {
		want.Data = l.Data
	}
	want.Renewed, want.Ends = got.Renewed, got.Renewed.Add(l.TTL)
	if diff := cmp.Diff(show(want), show(got)); diff != "" {
		return fmt.Errorf("Put of %s at %s: want -, got +\n%s", id, now, diff)
	}
	s.model[id] = want
	return nil
}

// lease puts a session with or without a key.
func (s *schedule) lease(p *process, l sessions.Lease, now time.Time, i int) (got sessions.Session, err error) {
	if s.random.IntN(3) > 0 {
		return p.store.Put(s.t.Context(), l, now)
	}
	call := once.Call{Key: fmt.Sprint(s.group, i), Digest: []byte("d"), Answer: []byte("a")}
	_, err = p.once.Do(s.t.Context(), call, now, func(ctx context.Context) (actions []shardmap.Write, err error) {
		var action shardmap.Write
		action, got, err = p.store.PutTransact(ctx, l, now)
		return []shardmap.Write{action}, err
	})
	return got, err
}

// end ends a session, half of the times with a lost answer.
func (s *schedule) end(p *process, id string, now time.Time, i int) (err error) {
	delete(s.model, id)
	if s.random.IntN(2) == 0 { // with an unknown outcome
		lost := false
		p.client.After = func() error {
			if lost {
				return nil
			}
			lost = true
			return libtest.LostAnswer{}
		}
		defer func() { p.client.After = nil }()
	}
	if s.random.IntN(3) > 0 {
		return p.store.End(s.t.Context(), s.group, id, now)
	}
	call := once.Call{Key: fmt.Sprint(s.group, i), Digest: []byte("d"), Answer: []byte("a")}
	begun := time.Now()
	_, err = p.once.Do(s.t.Context(), call, now, func(ctx context.Context) ([]shardmap.Write, error) {
		return []shardmap.Write{p.store.EndTransact(ctx, s.group, id, now.Add(time.Since(begun)))}, nil
	})
	return err
}

// check compares all reads with the expected sessions.
func (s *schedule) check(p *process, now time.Time) error {
	want, got := map[string]string{}, map[string]string{}
	for id, one := range s.model {
		if one.Ends.After(now) {
			want[id] = show(one)
		}
	}
	for row, err := range p.store.List(s.t.Context(), s.group, "", now) {
		if err != nil || got[row.ID] != "" {
			return fmt.Errorf("List: %q (again: %t): %w", row.ID, got[row.ID] != "", err)
		}
		one, err := p.store.Get(s.t.Context(), s.group, row.ID, now)
		if err != nil || !one.Started.Equal(row.Started) || !one.Ends.Equal(row.Ends) {
			return fmt.Errorf("List: %+v, want the times of %+v: %w", row, one, err)
		}
		got[row.ID] = show(one)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("at %s: want -, got +\n%s", now, diff)
	}
	if n, err := p.store.Active(s.t.Context(), s.group, now); err != nil || n != len(want) {
		return fmt.Errorf("Active = %d, want %d: %w", n, len(want), err)
	}
	for id := range s.model {
		if one, err := p.store.Get(s.t.Context(), s.group, id, now); want[id] == "" && !errors.Is(err, shard.ErrNotFound) {
			return fmt.Errorf("Get of %s, which has ended, = %v: %w", id, one, err)
		}
	}
	return nil
}

// show returns the text by which two sessions are compared.
func show(s sessions.Session) string {
	return fmt.Sprintf("%s/%s from %s, renewed %s, to %s: %q", s.Group, s.ID,
		s.Started.Format(time.StampMilli), s.Renewed.Format(time.StampMilli), s.Ends.Format(time.StampMilli), dynamo.Text(s.Data, "text"))
}

// slowStep bounds what a step's duration may add to the difference of the clocks.
const slowStep = 500 * time.Millisecond

// play takes steps and checks the sessions at the end. A slow step advances the clocks of all processes, since its put may
// be later by the step's duration.
func (s *schedule) play(steps int) error {
	for i := range steps {
		begin := time.Now()
		if err := s.step(i); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if took := time.Since(begin); took > slowStep {
			s.now = s.now.Add(took)
		}
	}
	return s.check(s.processes[0], s.now.Add(s.processes[0].skew))
}

// TestSessionsAreRightAfterAnyChange checks that sessions equal the model in random schedules of puts, ends and changes of
// the shard count.
func TestSessionsAreRightAfterAnyChange(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	first := require.Seed(t)
	seeds := uint64(require.Runs(require.UnlessQuick(5, 3), 15))
	for seed := first; seed < first+seeds; seed++ {
		if err := newSchedule(t, d, seed).play(80); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
