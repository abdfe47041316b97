package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// slow is a table that reads this many keys in one attempt.
type slow struct{ keys, attempts int }

func (s *slow) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	s.attempts++
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]dynamo.Item{}, UnprocessedKeys: map[string]types.KeysAndAttributes{}}
	for table, asked := range in.RequestItems {
		n := min(s.keys, len(asked.Keys))
		out.Responses[table] = asked.Keys[:n]
		if asked.Keys = asked.Keys[n:]; len(asked.Keys) > 0 {
			out.UnprocessedKeys[table] = asked
		}
	}
	return out, nil
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
