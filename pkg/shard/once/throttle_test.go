package once_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestThrottledCallBacksOff checks that a call is retried at once after a conflict, and with back-off after a throttle.
func TestThrottledCallBacksOff(t *testing.T) {
	for name, c := range map[string]struct {
		codes  []string
		atOnce bool
		kind   error
	}{
		"throttled":                 {[]string{"ThrottlingError", "None"}, false, shard.ErrThrottled},
		"throttled and in conflict": {[]string{"ThrottlingError", "TransactionConflict"}, false, shard.ErrThrottled},
		"in conflict":               {[]string{"TransactionConflict", "None"}, true, shard.ErrContended},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &libtest.Scripted{Transactions: slices.Repeat([]error{libtest.CanceledFor(c.codes...)}, 1000)}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := once.New(client, "t", once.Options{}).Do(ctx, once.Call{Key: "k", Digest: []byte("d")}, time.Now(), func(context.Context) ([]shardmap.Write, error) {
				return []shardmap.Write{{}}, nil
			})
			if tries := len(client.Transacted); tries < dynamo.MaxAttempts/2 || (tries > dynamo.MaxAttempts) != c.atOnce || !errors.Is(err, c.kind) || errors.Is(err, shard.ErrContended) != c.atOnce {
				t.Errorf("%s: %d attempts, %v; want %v, and more than %d attempts: %t", name, tries, err, c.kind, dynamo.MaxAttempts, c.atOnce)
			}
		})
	}
}
