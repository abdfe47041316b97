package boards_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// price has the units of one score.
type price struct{ Read, Table, Index float64 }

// priceOf returns the units of each of a number of scores.
func priceOf(s throttle.Stats, scores float64) price {
	p := price{Read: s.ReadUnits / scores}
	for _, space := range s.Spaces {
		if space.Index == schema.ByRank {
			p.Index += space.WriteUnits / scores
		} else {
			p.Table += space.WriteUnits / scores
		}
	}
	return p
}

// TestCostOfScores checks the units of a score with cached settings, as the partition limiter counts them.
func TestCostOfScores(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	client, limits := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 100_000})
	periods := []boards.Period{boards.AllTime, boards.Daily, boards.Weekly}
	now := libtest.Later
	for _, mode := range []boards.Mode{boards.Best, boards.Latest, boards.Total} {
		for n := 1; n <= 3; n++ {
			board, each := fmt.Sprint(mode, n), float64(n)
			d.configure(t, board, boards.Settings{Mode: mode, Periods: periods[:n]})
			rankings := d.boards(client, nil)
			submit(t, rankings, board, now, "first 1") // fixes the mode
			got, want := map[string]price{}, map[string]price{
				"new": {each, each, each}, "changed": {each, each, 2 * each}, "unchanged": {Read: each},
			}
			for i, what := range []string{"new", "changed", "unchanged"} {
				points := map[string]int{"new": 5, "changed": 7, "unchanged": 7}[what]
				at := now.Add(time.Duration(i) * time.Millisecond)
				if what == "unchanged" && mode == boards.Latest {
					at = now // as from a slow process
				}
				if what == "unchanged" && mode == boards.Total {
					points = 0
				}
				limits.Reset()
				var texts []string
				for p := range 10 {
					texts = append(texts, fmt.Sprintf("p%d %d", p, points))
				}
				submit(t, rankings, board, at, texts...)
				got[what] = priceOf(limits.Stats(), 10)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (want -, got +): %s", board, diff)
			}
		}
	}
}

// TestUnchangedScoresAreReadInBatches checks that 150 unchanged scores in three periods need batch reads only.
func TestUnchangedScoresAreReadInBatches(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.configure(t, "b", boards.Settings{Periods: []boards.Period{boards.AllTime, boards.Daily, boards.Weekly}})
	client, limits := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 100_000})
	rankings, now := d.boards(client, nil), libtest.Later
	var texts []string
	for p := range 150 {
		texts = append(texts, fmt.Sprintf("p%d 1", p))
	}
	submit(t, rankings, "b", now, texts...)
	limits.Reset()
	submit(t, rankings, "b", now.Add(time.Second), texts...)
	want := []throttle.OperationStats{{Operation: "BatchGetItem", ReadUnits: 450}}
	if diff := cmp.Diff(want, limits.Stats().Operations); diff != "" {
		t.Errorf("operations (want -, got +): %s", diff)
	}
}
