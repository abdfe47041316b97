package limits_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/limits"
)

// store is a table in memory that knows the conditions of limits. It counts its calls.
type store struct {
	limits.Client                                // has no probe
	history       []string                       // of the key k
	before, after func() error                   // an error fails a write before or after it is made; may be nil
	around        func(write func() error) error // replaces before and after; may be nil
	read          func()                         // comes before a read; may be nil
	hangs         bool                           // reads end with their context
	mu            sync.Mutex
	used          map[string]use // by partition key
	calls         calls
	consistent    int // keys that were read strongly consistent
}

// use is what an item has.
type use struct{ used, hits int64 }

// calls are the number of calls, and the keys of all batches.
type calls struct{ updates, transactions, keys int }

func newStore(history ...string) *store { return &store{history: history, used: map[string]use{}} }

// limiter returns a Limiter with its own caches, like another process.
func (s *store) limiter(o shard.Observer) *limits.Limiter {
	return limits.New(s, "t", libtest.MapOf("R#k", s.history...), limits.Options{Observer: o})
}

// reset returns the calls since the last reset.
func (s *store) reset() calls {
	got := s.calls
	s.calls = calls{}
	return got
}

// total returns the sum of used over all items of a window, whose keys begin with prefix; -1 if hits differ or are negative.
func (s *store) total(prefix string) int64 {
	used, hits := int64(0), int64(0)
	for key, u := range s.used {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if u.hits < 0 {
			return -1
		}
		used, hits = used+u.used, hits+u.hits
	}
	if used != hits {
		return -1
	}
	return used
}

func (s *store) item(key dynamo.Item) dynamo.Item {
	pk := dynamo.Text(key, "pk")
	used, exists := s.used[pk]
	if !exists {
		return nil
	}
	it := dynamo.Key(pk, "-")
	it["used"], it["hits"] = dynamo.Number(used.used), dynamo.Number(used.hits)
	return it
}

// fails reports whether an update's condition fails.
func (s *store) fails(key dynamo.Item, condition *string, values dynamo.Item) bool {
	is, exists := s.used[dynamo.Text(key, "pk")]
	bound, _ := dynamo.Whole(values, ":bound")
	switch text := aws.ToString(condition); text {
	case "":
		return false
	case "#hits >= :bound":
		return is.hits < bound
	case "#used <= :bound":
		return !exists || is.used > bound
	case "attribute_not_exists(#used) OR #used <= :bound":
		return exists && is.used > bound
	default:
		panic("unknown condition " + text)
	}
}

func (s *store) add(key, values dynamo.Item) {
	used, _ := dynamo.Whole(values, ":used")
	hits, _ := dynamo.Whole(values, ":hits")
	is := s.used[dynamo.Text(key, "pk")]
	s.used[dynamo.Text(key, "pk")] = use{is.used + used, is.hits + hits}
}

func call(hook func() error) error {
	if hook == nil {
		return nil
	}
	return hook()
}

// do makes a write with the hooks.
func (s *store) do(write func() error) error {
	locked := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return write()
	}
	if s.around != nil {
		return s.around(locked)
	}
	if err := call(s.before); err != nil {
		return err
	}
	if err := locked(); err != nil {
		return err
	}
	return call(s.after)
}

func (s *store) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = s.do(func() error {
		s.calls.updates++
		if s.fails(in.Key, in.ConditionExpression, in.ExpressionAttributeValues) {
			return &types.ConditionalCheckFailedException{Item: s.item(in.Key)}
		}
		s.add(in.Key, in.ExpressionAttributeValues)
		out = &dynamodb.UpdateItemOutput{Attributes: s.item(in.Key)}
		return nil
	})
	return out, err
}

func (s *store) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, s.do(func() error {
		s.calls.transactions++
		failed := &types.TransactionCanceledException{}
		for _, a := range in.TransactItems {
			reason := types.CancellationReason{Code: aws.String("None")}
			if u := a.Update; s.fails(u.Key, u.ConditionExpression, u.ExpressionAttributeValues) {
				reason = types.CancellationReason{Code: aws.String("ConditionalCheckFailed"), Item: s.item(u.Key)}
			}
			failed.CancellationReasons = append(failed.CancellationReasons, reason)
		}
		if len(dynamo.FailedActions(failed)) > 0 {
			return failed
		}
		for _, a := range in.TransactItems {
			s.add(a.Update.Key, a.Update.ExpressionAttributeValues)
		}
		return nil
	})
}

func (s *store) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.read != nil {
		s.read()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]dynamo.Item{}}
	for table, asked := range in.RequestItems {
		s.calls.keys += len(asked.Keys)
		if aws.ToBool(asked.ConsistentRead) {
			s.consistent += len(asked.Keys)
		}
		for _, key := range asked.Keys {
			if it := s.item(key); it != nil {
				out.Responses[table] = append(out.Responses[table], it)
			}
		}
	}
	return out, nil
}

// set sets the use of the first write shards of a window of a day of the key k. What is below 0 was transferred from write
// shard 0.
func (s *store) set(used ...int64) {
	hits := int64(0)
	for n, u := range used {
		s.used[dayKey(n)] = use{u, max(u, 0)}
		hits += min(u, 0)
	}
	if len(used) > 0 {
		s.used[dayKey(0)] = use{used[0], used[0] + hits}
	}
}

// dayKey is the partition key of a write shard of the window of a day that begins at libtest.Later's midnight.
func dayKey(n int) string {
	return fmt.Sprintf("R#k#86400#%d#%d", libtest.Later.Truncate(24*time.Hour).Unix(), n)
}
