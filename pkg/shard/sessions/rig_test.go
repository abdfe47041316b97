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

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

var later = libtest.Later

type item = map[string]types.AttributeValue

// deployment is a libtest.Deployment with the helpers of this package.
type deployment struct{ *libtest.Deployment }

func deploy(t *testing.T) *deployment {
	t.Helper()
	return &deployment{libtest.Deploy(t)}
}

func (d *deployment) view() *shardmap.Map {
	return shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
}

// process returns a store with its own view of the shard map.
func (d *deployment) process(client sessions.Client, o shard.Observer) *sessions.Store {
	return sessions.New(client, d.Names.Items, d.view(), sessions.Options{Observer: o})
}

func (d *deployment) store() *sessions.Store { return d.process(d.Client, nil) }

// reader returns a reader with its own view of the shard map.
func (d *deployment) reader(client sessions.ReaderClient) *sessions.Reader {
	return sessions.NewReader(client, d.Names.Items, d.view())
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// pin pins a group's shard count. It retries, since a slow machine may exceed a change's time-out.
func (d *deployment) pin(t *testing.T, group string, n int, now time.Time, o shardmap.ChangerOptions) {
	t.Helper()
	o.Clock = func() time.Time { return now }
	changer := shardmap.NewChanger(d.Client, d.view(), o)
	for range 20 {
		_, err := changer.Pin(within(t), "S#"+group, n, libtest.Note, now)
		if err == nil {
			return
		}
		if !errors.Is(err, shard.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	t.Fatalf("20 pins of group %s timed out", group)
}

// items returns the items of the items table by sort key.
func (d *deployment) items(t *testing.T) map[string][]item {
	t.Helper()
	out, err := d.Client.Scan(within(t), &dynamodb.ScanInput{TableName: &d.Names.Items})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]item{}
	for _, it := range out.Items {
		sk := text(it, "sk")
		found[sk] = append(found[sk], it)
	}
	return found
}

func (d *deployment) putItem(t *testing.T, it item) {
	t.Helper()
	if _, err := d.Client.PutItem(within(t), &dynamodb.PutItemInput{TableName: &d.Names.Items, Item: it}); err != nil {
		t.Fatal(err)
	}
}

func text(it item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func data(s string) item { return item{"text": libtest.Str(s)} }

// slowest bounds the duration of a call on a busy machine.
const slowest = 20 * time.Second

// put puts a session and checks its renewal time, which may be later by the duration of the call.
func put(t *testing.T, s *sessions.Store, l sessions.Lease, now time.Time) sessions.Session {
	t.Helper()
	one, err := s.Put(within(t), l, now)
	if err != nil {
		t.Fatal(err)
	}
	late := one.Renewed.Sub(now.Truncate(time.Millisecond))
	if late < 0 || late >= slowest || !one.Ends.Equal(one.Renewed.Add(l.TTL)) {
		t.Fatalf("Put at %s with a TTL of %v = %+v; want it renewed then, and Ends = Renewed + TTL", now, l.TTL, one)
	}
	return one
}

// check compares all reads of a group with the wanted number, and returns its sessions by id.
func check(t testing.TB, r *sessions.Reader, group string, now time.Time, want int) map[string]sessions.Session {
	t.Helper()
	n, err := r.Active(within(t), group, now)
	if err != nil || n != want {
		t.Fatalf("Active = %d at %s, %v; want %d", n, now.Format(time.StampMilli), err, want)
	}
	all, last := map[string]sessions.Session{}, ""
	for id, err := range r.IDs(within(t), group, now) {
		if err != nil || id <= last {
			t.Fatalf("IDs: %q after %q, %v", id, last, err)
		}
		last = id
		if all[id], err = r.Get(within(t), group, id, now); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) != want {
		t.Fatalf("IDs: %d sessions at %s, want %d", len(all), now.Format(time.StampMilli), want)
	}
	return all
}

// faulty returns a client whose writes may fail before or after they are applied.
func (d *deployment) faulty(before, after func() error) libtest.Faulty {
	return libtest.Faulty{Flaky: &libtest.Flaky{Client: d.Client, Before: before, After: after}}
}

// insist repeats a call while it returns ErrUnavailable or ErrThrottled, up to 30 times.
func insist(t testing.TB, call func(context.Context) error) (err error) {
	for range 30 {
		if err = call(within(t)); !errors.Is(err, shard.ErrUnavailable) && !errors.Is(err, shard.ErrThrottled) {
			return err
		}
	}
	return err
}

// observed keeps the conclusive attempts, and counts the calls.
type observed struct {
	mu       sync.Mutex
	calls    map[uint64]bool
	attempts []shard.Attempt
	throttle func() // called after each throttle; may be nil
}

func (w *observed) ObserveAttempt(_ context.Context, a shard.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = map[uint64]bool{}
	}
	w.calls[a.Call] = true
	if a.Outcome != shard.Inconclusive {
		w.attempts = append(w.attempts, a)
	}
	if a.Outcome == shard.Throttled && w.throttle != nil {
		w.throttle()
	}
}

// shown lists the outcomes of conclusive attempts by write shard and version, each once.
func (w *observed) shown() (list []string) {
	names := map[shard.Outcome]string{shard.Accepted: "accepted", shard.Throttled: "throttled", shard.Conflicted: "conflicted"}
	for _, a := range w.attempts {
		list = append(list, fmt.Sprintf("%s %d %s by version %d", a.Key, a.Shard, names[a.Outcome], a.Version))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// once makes a keyed call with one write.
func (d *deployment) once(ctx context.Context, client once.Client, o shard.Observer, key string, now time.Time,
	action func(context.Context) (shardmap.Write, error),
) error {
	call := once.Call{Key: key, Digest: []byte("d"), Answer: []byte("a")}
	_, err := once.New(client, d.Names.Items, once.Options{Observer: o}).Do(ctx, call, now, func(ctx context.Context) ([]shardmap.Write, error) {
		one, err := action(ctx)
		return []shardmap.Write{one}, err
	})
	return err
}
