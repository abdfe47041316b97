package freshness

import (
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/schema"
)

func TestIncrementsBecomeVisible(t *testing.T) {
	t.Parallel()
	p := pace{rate: 50, lasting: 2 * time.Second}
	f, err := measureWindow(t.Context(), enginetest.Endpoint(t), p, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if f.Increments != 100 || len(f.Quantiles) != 101 || f.P50 <= 0 || f.P99 < f.P50 || f.Max < f.P99 || f.Read <= 0 {
		t.Errorf("got %+v", f)
	}
}

// TestFoldsDoNotMeet has one key over many write shards and stream shards. In
// steady state no fold may fail, but for an entity's when a stream shard's batches
// go to changing containers, which have to learn what others have folded.
func TestFoldsDoNotMeet(t *testing.T) {
	t.Parallel()
	p := pace{rate: 100, lasting: 2 * time.Second}
	for _, b := range []breadth{
		{schema.Counter, 200, 6, 2, 200 * time.Millisecond},
		{schema.Counter, 200, 6, 0, 200 * time.Millisecond},
		{schema.Entity, 200, 6, 2, 200 * time.Millisecond},
		{schema.Entity, 200, 6, 0, 200 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%s over %d", b.Type, b.Fixed), func(t *testing.T) {
			t.Parallel()
			s, err := b.measure(t.Context(), enginetest.Endpoint(t), p)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", s)
			if s.Whole.Records != 200 || s.Steady.Batches == 0 || s.Steady.Updates != s.Steady.Items+s.Steady.Failed || b.Fixed > 0 && s.Containers != b.Fixed {
				t.Errorf("the run tried too little: %+v", s)
			}
			if s.Steady.Failed > 0 && (b.Type == schema.Counter || b.Fixed > 0) {
				t.Errorf("%d folds failed by their conditions: %+v", s.Steady.Failed, s)
			}
		})
	}
}
