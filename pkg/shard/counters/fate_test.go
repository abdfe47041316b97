package counters_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

// TestEveryAttemptOfACounterIsObserved checks that each attempt of a call is observed once. Throttles of other limits than
// the partition's and unknown outcomes are inconclusive.
func TestEveryAttemptOfACounterIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &libtest.Scripted{Updates: []error{
			libtest.Hot(libtest.TableHot), &types.TransactionConflictException{}, libtest.Hot("TableWriteAccountLimitExceeded"), libtest.LostAnswer{},
		}}
		w := &libtest.Listener{}
		if err := counters.NewWriter(client, "t", libtest.EmptyMap(), counters.Options{Observer: w}).Add(t.Context(), "a", 1, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := w.Outcomes("C#a"); !slices.Equal(got, []shard.Outcome{shard.Throttled, shard.Conflicted, shard.Accepted}) || w.All != 5 {
			t.Errorf("observed %v and %d attempts; want throttled, conflicted, accepted and 5", got, w.All)
		}
		for _, a := range w.Attempts {
			if a.Call == 0 || a.Call != w.Attempts[0].Call {
				t.Errorf("an attempt with another call number: %+v", a)
			}
		}
	})
}
