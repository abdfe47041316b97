package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestRetriesDoNotNest checks that Persist does not retry an inner Persist that made all its attempts. It retries one that
// ended at an earlier deadline.
func TestRetriesDoNotNest(t *testing.T) {
	for name, persist := range map[string]func(context.Context, func(context.Context) error) error{"Persist": dynamo.Persist, "PersistSum": dynamo.PersistSum} {
		synctest.Test(t, func(t *testing.T) {
			attempts, begun := 0, time.Now()
			throttled := func(context.Context) error { attempts++; return libtest.Hot(libtest.TableHot) }
			err := persist(t.Context(), func(ctx context.Context) error { return dynamo.Persist(ctx, throttled) })
			if took := time.Since(begun); !errors.Is(err, shard.ErrThrottled) || attempts != dynamo.MaxAttempts || took > 10*time.Second {
				t.Errorf("%s: %d attempts in %v, %v; want %d", name, attempts, took, err, dynamo.MaxAttempts)
			}
			calls := 0
			err = persist(t.Context(), func(ctx context.Context) error {
				if calls++; calls > 3 {
					return nil
				}
				ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				return dynamo.Persist(ctx, throttled)
			})
			if err != nil || calls != 4 {
				t.Errorf("%s: %d inner calls with an earlier deadline, %v; want 4", name, calls, err)
			}
		})
	}
}

// TestAnEndedContextIsNamed checks that a call that its context ended has the context's error and DynamoDB's.
func TestAnEndedContextIsNamed(t *testing.T) {
	for name, fault := range map[string]struct{ err, kind error }{
		"throttled":   {libtest.Hot(libtest.TableHot), shard.ErrThrottled},
		"unavailable": {&types.InternalServerError{}, shard.ErrUnavailable},
		"connection":  {libtest.LostAnswer{}, shard.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			fail := func(context.Context) error { return fault.err }
			canceled, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			if err := dynamo.Persist(canceled, fail); !errors.Is(err, context.Canceled) || !errors.Is(err, fault.kind) {
				t.Errorf("%s, canceled: %v", name, err)
			}
			late, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer end()
			if err := dynamo.Persist(late, fail); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, fault.kind) {
				t.Errorf("%s, at the deadline: %v", name, err)
			}
			if err := dynamo.Persist(t.Context(), fail); errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, fault.kind) {
				t.Errorf("%s, after all attempts: %v", name, err)
			}
		})
	}
}

// slow is a table that reads this many keys in one attempt.
type slow struct {
	mu             sync.Mutex
	keys, attempts int
	sizes          []int // of the requests
}

func (s *slow) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]dynamo.Item{}, UnprocessedKeys: map[string]types.KeysAndAttributes{}}
	for table, asked := range in.RequestItems {
		n := min(s.keys, len(asked.Keys))
		s.sizes = append(s.sizes, len(asked.Keys))
		out.Responses[table] = asked.Keys[:n]
		if asked.Keys = asked.Keys[n:]; len(asked.Keys) > 0 {
			out.UnprocessedKeys[table] = asked
		}
	}
	return out, nil
}

// nameless answers a batch by a table's ARN with the table's name.
type nameless struct{ calls int }

func (n *nameless) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	n.calls++
	keys := dynamo.OnlyTable(in.RequestItems).Keys
	return &dynamodb.BatchGetItemOutput{
		Responses: map[string][]dynamo.Item{"t": keys[:1]}, UnprocessedKeys: map[string]types.KeysAndAttributes{"t": {Keys: keys[1:]}},
	}, nil
}

// TestBatchGetByARN checks that no item is missing if the engine answers with the table's name.
func TestBatchGetByARN(t *testing.T) {
	client := &nameless{}
	keys := []dynamo.Item{dynamo.Key("a", "-"), dynamo.Key("b", "-"), dynamo.Key("c", "-")}
	found, err := dynamo.BatchGet(t.Context(), client, "arn:aws:dynamodb:eu-west-1:123456789012:table/t", keys, true)
	if err != nil || len(found) != len(keys) || client.calls != len(keys) {
		t.Errorf("found %d items by %d calls, %v", len(found), client.calls, err)
	}
}

// TestBatchGetOfASlowTable checks that attempts go on while they read some keys, until the deadline. The number of attempts
// that read none is bounded.
func TestBatchGetOfASlowTable(t *testing.T) {
	for _, c := range []struct {
		keys     int // read in one attempt
		attempts int // 0 for any number
		found    int
		within   time.Duration
	}{
		{1, 20, 20, time.Hour},
		{0, dynamo.MaxAttempts, 0, time.Hour},
		{1, 0, 0, 100 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if c.within < time.Hour {
				bounded, cancel := context.WithTimeout(ctx, c.within)
				defer cancel()
				ctx = bounded
			}
			var keys []dynamo.Item
			for i := range 20 {
				keys = append(keys, dynamo.Key(fmt.Sprint(i), "-"))
			}
			client := &slow{keys: c.keys}
			begun := time.Now()
			found, err := dynamo.BatchGet(ctx, client, "t", keys, true)
			read := map[string]bool{}
			for _, it := range found {
				read[dynamo.Text(it, "pk")] = true
			}
			switch {
			case c.found > 0 && (err != nil || len(found) != c.found || len(read) != c.found || time.Since(begun) == 0):
				t.Errorf("%+v: %d found, %v", c, len(found), err)
			case c.found == 0 && !errors.Is(err, shard.ErrThrottled):
				t.Errorf("%+v: %v", c, err)
			}
			if c.attempts > 0 && client.attempts != c.attempts || time.Since(begun) > c.within {
				t.Errorf("%+v: %d attempts in %v", c, client.attempts, time.Since(begun))
			}
		})
	}
}

// TestBatchesOfReads checks that a read is split into DynamoDB's batches, and that their items are joined.
func TestBatchesOfReads(t *testing.T) {
	for n, sizes := range map[int][]int{0: nil, 1: {1}, 100: {100}, 101: {100, 1}, 201: {100, 100, 1}} {
		client := &slow{keys: 100}
		keys := make([]dynamo.Item, n)
		for i := range keys {
			keys[i] = dynamo.Key(fmt.Sprint(i), "-")
		}
		found, err := dynamo.BatchGet(t.Context(), client, "t", keys, true)
		slices.Sort(client.sizes)
		slices.Reverse(client.sizes)
		if err != nil || len(found) != n || !slices.Equal(client.sizes, sizes) {
			t.Errorf("%d keys: %d found by requests of %v, %v", n, len(found), client.sizes, err)
		}
	}
	if dynamo.MaxBatchWrite != 25 || dynamo.MaxTransactActions != 99 || dynamo.MaxItem != 409600 {
		t.Error("DynamoDB's limits are wrong")
	}
}
