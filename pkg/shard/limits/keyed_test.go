package limits_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/limits"
)

// TestUsedCountsHits checks that a process which makes all hits reports their exact number, keyed or not, while quota is
// transferred.
func TestUsedCountsHits(t *testing.T) {
	for name, history := range map[string][]string{"one write shard": nil, "seven": {"1:7"}, "it grows to seven": {later(7)}} {
		s := newStore(history...)
		l, limit := s.limiter(nil), limits.Limit{Key: "k", Max: 1000, Window: 24 * time.Hour}
		for i := range int64(40) {
			if v := mustHit(t, l, limit, libtest.Later); v.Used != i+1 || v.Remaining != 1000-v.Used {
				t.Errorf("%s, hit %d: %d used, %d left", name, i+1, v.Used, v.Remaining)
			}
		}
		for i := range int64(20) {
			actions, list, err := l.HitTransact(t.Context(), []limits.Hits{{Limit: limit, N: 1}}, libtest.Later)
			if err != nil {
				t.Fatal(err)
			}
			if v := list[0]; v.Used != i+41 || v.Remaining != 1000-v.Used {
				t.Errorf("%s, keyed hit %d: %d used, %d left, %v", name, i+41, v.Used, v.Remaining, err)
			}
			in := &dynamodb.TransactWriteItemsInput{}
			for _, w := range actions {
				in.TransactItems = append(in.TransactItems, w.Action)
			}
			if _, err := s.TransactWriteItems(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
}
