package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/throttle"
)

var later = enginetest.Later

type item = map[string]types.AttributeValue

// deployment is the tables of one test.
type deployment struct {
	client *dynamodb.Client
	names  schema.Names
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	client := enginetest.Client(t)
	return &deployment{client, enginetest.Tables(t, client)}
}

func (d *deployment) view() *shardmap.Map {
	return shardmap.New(d.client, d.names.ShardMap, shardmap.Options{})
}

// process returns a store with its own view of the shard map.
func (d *deployment) process(client sessions.Client, o shard.Observer) *sessions.Store {
	return sessions.New(client, d.names.Items, d.view(), sessions.Options{Observer: o})
}

func (d *deployment) store() *sessions.Store { return d.process(d.client, nil) }

// reader returns a reader with its own view of the shard map.
func (d *deployment) reader(client sessions.ReaderClient) *sessions.Reader {
	return sessions.NewReader(client, d.names.Items, d.view())
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// pin pins a group's shard count, and retries on a slow machine.
func (d *deployment) pin(t *testing.T, group string, n int, now time.Time, o shardmap.ChangerOptions) {
	t.Helper()
	o.Clock = func() time.Time { return now }
	changer := shardmap.NewChanger(d.client, d.view(), o)
	for range 20 {
		_, err := changer.Pin(within(t), "S#"+group, n, shardmap.Note{By: "test", Why: "to see it"}, now)
		if err == nil {
			return
		}
		if !errors.Is(err, shard.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	t.Fatal("20 attempts failed")
}

// items returns the items of the items table by sort key.
func (d *deployment) items(t *testing.T) map[string][]item {
	t.Helper()
	out, err := d.client.Scan(within(t), &dynamodb.ScanInput{TableName: &d.names.Items})
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
	if _, err := d.client.PutItem(within(t), &dynamodb.PutItemInput{TableName: &d.names.Items, Item: it}); err != nil {
		t.Fatal(err)
	}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func text(it item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func data(s string) item { return item{"text": str(s)} }

// slowest is how long a call may take on a machine that is busy.
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
		t.Fatalf("put at %s for %v: %+v", now, l.TTL, one)
	}
	return one
}

// check reads a group in all ways, and returns its sessions by id.
func check(t testing.TB, r *sessions.Reader, group string, now time.Time, want int) map[string]sessions.Session {
	t.Helper()
	n, err := r.Active(within(t), group, now)
	if err != nil || n != want {
		t.Fatalf("%d active at %s, %v; want %d", n, now.Format(time.StampMilli), err, want)
	}
	all, last := map[string]sessions.Session{}, ""
	for id, err := range r.IDs(within(t), group, now) {
		if err != nil || id <= last {
			t.Fatalf("%q after %q, %v", id, last, err)
		}
		last = id
		if all[id], err = r.Get(within(t), group, id, now); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) != want {
		t.Fatalf("%d sessions at %s, want %d", len(all), now.Format(time.StampMilli), want)
	}
	return all
}

// faulty is a client whose writes may fail before or after they are applied.
type faulty struct {
	*dynamodb.Client
	before, after func() error

	mu   sync.Mutex
	lost int // writes with an unknown outcome
}

func (f *faulty) wrap(write func() error) error {
	may := func(fault func() error) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if fault == nil {
			return nil
		}
		return fault()
	}
	if err := may(f.before); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	err := may(f.after)
	if err != nil {
		f.mu.Lock()
		f.lost++
		f.mu.Unlock()
	}
	return err
}

func (f *faulty) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = f.wrap(func() error { out, err = f.Client.UpdateItem(ctx, in, o...); return err })
	return out, err
}

func (f *faulty) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.DeleteItemOutput, err error) {
	err = f.wrap(func() error { out, err = f.Client.DeleteItem(ctx, in, o...); return err })
	return out, err
}

func (f *faulty) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	err = f.wrap(func() error { out, err = f.Client.TransactWriteItems(ctx, in, o...); return err })
	return out, err
}

const (
	indexHot = "IndexWriteKeyRangeThroughputExceeded"
	tableHot = "TableWriteKeyRangeThroughputExceeded"
)

// hot is a throttle as DynamoDB reports it, with its reason.
func hot(reason string) error {
	return &types.ProvisionedThroughputExceededException{
		Message: aws.String("over"), ThrottlingReasons: []types.ThrottlingReason{{Reason: &reason, Resource: aws.String("arn")}},
	}
}

// lostAnswer is a network error.
type lostAnswer struct{}

func (lostAnswer) Error() string   { return "the connection broke" }
func (lostAnswer) Timeout() bool   { return true }
func (lostAnswer) Temporary() bool { return true }

// sometimes returns a function that fails at random, and always at its third call.
func sometimes(random *rand.Rand, oneIn int, err error) func() error {
	n := 0
	return func() error {
		if n++; n == 3 || random.IntN(oneIn) == 0 {
			return err
		}
		return nil
	}
}

// insist repeats a call while DynamoDB fails.
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
	throttle func() // is called at each
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

// shown lists the outcomes of the attempts, each once.
func (w *observed) shown() (list []string) {
	names := map[shard.Outcome]string{shard.Accepted: "accepted", shard.Throttled: "throttled", shard.Conflicted: "conflicted"}
	for _, a := range w.attempts {
		list = append(list, fmt.Sprintf("%s %d %s by version %d", a.Key, a.Shard, names[a.Outcome], a.Version))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// limited returns a client whose calls a limiter counts and limits.
func (d *deployment) limited(t *testing.T, o throttle.Options) (*dynamodb.Client, *throttle.Limiter) {
	t.Helper()
	o.Base = dynamolocal.Transport()
	limits, err := throttle.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return dynamodb.New(d.client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} }), limits
}

// once applies an action of a keyed call.
func (d *deployment) once(ctx context.Context, client once.Client, o shard.Observer, key string, now time.Time,
	action func(context.Context) (shardmap.Write, error),
) error {
	call := once.Call{Key: key, Digest: []byte("d"), Answer: []byte("a")}
	_, err := once.New(client, d.names.Items, once.Options{Observer: o}).Do(ctx, call, now, func(ctx context.Context) ([]shardmap.Write, error) {
		one, err := action(ctx)
		return []shardmap.Write{one}, err
	})
	return err
}
