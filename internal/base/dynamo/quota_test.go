package dynamo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestQuotaOfRetries checks what is free, and that an exhausted quota ends a call at once with its last error.
func TestQuotaOfRetries(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int // attempts of a call with an exhausted quota
		kind error
	}{
		"throttled: the first retry is free": {libtest.Hot(), 2, shard.ErrThrottled},
		"broken":                             {&types.InternalServerError{}, 1, shard.ErrUnavailable},
		"timed out":                          {context.DeadlineExceeded, 1, shard.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := dynamo.NewQuota().Context(t.Context())
			call := func(results ...error) (attempts int, err error) {
				err = dynamo.Persist(ctx, func(context.Context) error {
					attempts++
					return results[min(attempts, len(results))-1]
				})
				return attempts, err
			}
			for range 100 { // 500 tokens, 5 or 10 for each retry
				if attempts, err := call(c.err, nil); attempts != 2 || err != nil {
					t.Fatalf("%s: %d attempts, %v: a successful retry costs nothing", name, attempts, err)
				}
			}
			for n := 0; ; n++ {
				attempts, err := call(c.err)
				if attempts == c.want && errors.Is(err, c.kind) {
					break
				}
				if n == 100 {
					t.Fatalf("%s: still %d attempts, %v", name, attempts, err)
				}
			}
			for range 10 { // calls without a retry pay for the next ones
				if _, err := call(nil); err != nil {
					t.Fatal(err)
				}
			}
			if attempts, _ := call(c.err); attempts <= c.want {
				t.Errorf("%s: %d attempts after successful calls, want more", name, attempts)
			}
		})
	}
}
