package query

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// meter is a client that counts reads.
type meter struct {
	*dynamodb.Client
	calls atomic.Int32
}

func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	m.calls.Add(1)
	return m.Client.GetItem(ctx, in, o...)
}

func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	m.calls.Add(1)
	return m.Client.Query(ctx, in, o...)
}

func (m *meter) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	m.calls.Add(1)
	return m.Client.BatchGetItem(ctx, in, o...)
}

// foldScores folds scores into the fragments of some stream shards as the aggregator does, and returns the histogram's
// store.
func (r *rig) foldScores(of parts.Period, scores []boards.Score, streamShards int) *parts.Store[board.Histogram] {
	r.t.Helper()
	store := parts.NewHistograms(r.client, r.names.Rollups, func() time.Time { return r.now })
	folder := store.Folder(r.client)
	for n := range streamShards {
		one := parts.Record[board.Histogram]{Sequence: fmt.Sprintf("%0*d", schema.RollupSequenceDigits, 1), Apply: func(h *board.Histogram) {
			for i := n; i < len(scores); i += streamShards {
				h.AddScore(scores[i], 1)
				h.Limit(board.MaxCells)
			}
		}}
		_, err := folder.Fold(r.t.Context(), of.Key(), fmt.Sprintf("shardId-%d", n), time.Time{}, []parts.Record[board.Histogram]{one})
		require.NoError(r.t, err)
	}
	return store
}

// TestARankByTheSumCostsTwoCalls checks that a rank reads the fragments of a histogram only if there is no stored sum.
func TestARankByTheSumCostsTwoCalls(t *testing.T) {
	r := newRig(t)
	player := r.submitEqualScores("g", 1)[0]
	of := parts.Period{Board: "g", Label: "all"}
	store := r.foldScores(of, append(slices.Repeat([]boards.Score{score(t, "9")}, 3000), player.Score), 9)
	client := &meter{Client: r.client}
	r.serve(client)
	for _, summed := range []bool{false, true} {
		client.calls.Store(0)
		page := r.rank(player.Player, 0)
		if calls := client.calls.Load(); page.Rank-page.RankError > 3001 || page.Rank+page.RankError < 3001 || summed != (calls == 2) {
			t.Errorf("with a sum %t: %+v by %d calls", summed, page, calls)
		}
		_, err := store.Refresh(t.Context(), r.client, of.Key(), of.SumKey(), 1)
		require.NoError(t, err)
	}
}

// TestARankBeforeTheSumIsRefreshed checks that a rank comes from the fragments if the stored sum lacks too many scores.
func TestARankBeforeTheSumIsRefreshed(t *testing.T) {
	r := newRig(t)
	of := parts.Period{Board: "g", Label: "all"}
	player := r.submitEqualScores("g", 1)[0]
	store := r.foldScores(of, []boards.Score{player.Score, score(t, "7")}, 2)
	_, err := store.Refresh(t.Context(), r.client, of.Key(), of.SumKey(), 1)
	require.NoError(t, err)
	better := player
	better.Score = score(t, "9")
	var cells board.Histogram
	cells.AddScore(better.Score, 50_000)
	r.putHistogram("g", "s", cells, foldedAt(r.now))
	r.serve(&queries{Client: r.client, items: before(maxFound+1, better)})
	if page := r.rank(player.Player, 0); page.Rank != 50_002 {
		t.Errorf("got %+v, want rank 50002", page)
	}
}
