package limits

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestTakingOverRoomIsUntold: more write shards would make more of that. A hit that takes none
// over is told of.
func TestTakingOverRoomIsUntold(t *testing.T) {
	shards := wingtest.EmptyMap()
	l := New(nil, "t", shards, Options{})
	now := time.Unix(1_800_000_000, 0)
	h, err := l.hit(t.Context(), Limit{Key: "k", Max: 100, Window: time.Minute}, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		actions []types.TransactWriteItem
		code    string
		want    []shardmap.Outcome
	}{
		"taking over":            {h.exchange(3, 0, 5), "TransactionConflict", nil},
		"taking over, throttled": {h.exchange(3, 0, 5), "ThrottlingError", nil},
		"a hit, throttled":       {[]types.TransactWriteItem{{Update: h.update(0)}}, "ThrottlingError", []shardmap.Outcome{shardmap.OverLimit}},
		"a hit":                  {[]types.TransactWriteItem{{Update: h.update(0)}}, "TransactionConflict", []shardmap.Outcome{shardmap.Conflicted}},
	} {
		w := &wingtest.Listener{}
		told := watching.New(&wingtest.Scripted{Probe: wingtest.ThrottledFor(wingtest.PartitionFull)}, "t", shards, w)
		loads, _ := told.Loads(t.Context(), c.actions, 1, now)
		told.Told(t.Context(), loads, wingtest.CanceledFor(c.code, "None"))
		if got := w.Outcomes("R#k"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
