package counters_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestACounterTellsItsFate: also of a conflict, and of what is no fault of its partition
// nothing.
func TestACounterTellsItsFate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &wingtest.Scripted{Updates: []error{
			wingtest.ThrottledFor(wingtest.PartitionFull), &types.TransactionConflictException{}, wingtest.ThrottledFor("TableWriteAccountLimitExceeded"), &types.InternalServerError{},
		}}
		w := &wingtest.Listener{}
		if err := counters.NewWriter(client, "t", wingtest.EmptyMap(), counters.Options{Watch: w}).Add(t.Context(), "a", 1, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := w.Outcomes("C#a"); !slices.Equal(got, []shardmap.Outcome{shardmap.OverLimit, shardmap.Conflicted, shardmap.Taken}) || len(w.Requests) != 1 {
			t.Errorf("%v, %d requests", got, len(w.Requests))
		}
	})
}
