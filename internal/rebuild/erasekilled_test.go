package rebuild_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

var errKilled = errors.New("killed")

// mortal returns a client whose writes fail after this number of them.
func mortal(db *dynamodb.Client, writes int64) *dynamodb.Client {
	var left atomic.Int64
	left.Store(writes)
	return enginetest.Before(db, func(in any) error {
		switch in.(type) {
		case *dynamodb.DeleteItemInput, *dynamodb.UpdateItemInput, *dynamodb.PutItemInput, *dynamodb.TransactWriteItemsInput:
			if left.Add(-1) < 0 {
				return errKilled
			}
		}
		return nil
	})
}

// TestKilledAndRunAgain kills a delete after a growing number of writes until one finishes, and checks that
// nothing is left. The aggregator starts only after the second kill.
func TestKilledAndRunAgain(t *testing.T) {
	for _, k := range []schema.BaseKey{keys[3], keys[0]}[:require.Runs(1, 2)] {
		t.Run(string(k.Type), func(t *testing.T) {
			t.Parallel()
			r := newEraseRig(t)
			r.fill(t, k, 3)
			o := r.options()
			o.Wait = time.Second
			kills, stop := 0, func() {}
			for writes := int64(1); ; writes += writes + 3 {
				if kills == 2 {
					stop = r.run(t, false)
					o.Wait = 40 * time.Second
				}
				report, err := rebuild.NewEraser(o, mortal(r.db, writes)).Key(t.Context(), k)
				if err == nil && len(report.Left) == 0 {
					break
				}
				if err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				kills++
			}
			if kills < 2 {
				t.Errorf("the delete was killed %d times, want 2 or more", kills)
			}
			stop()
			r.run(t, true)()
			r.wantNothing(t, doomed, "after the redelivery")
		})
	}
}
