package dynamo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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
