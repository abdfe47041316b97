package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// meter is a client that counts reads and their read units.
type meter struct {
	*dynamodb.Client
	mu    sync.Mutex
	calls int
	units float64
}

func (m *meter) count(used *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.units += aws.ToFloat64(used.CapacityUnits)
}

func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.GetItem(ctx, in, o...)
	if err == nil {
		m.count(out.ConsumedCapacity)
	}
	return out, err
}

func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.Query(ctx, in, o...)
	if err == nil {
		m.count(out.ConsumedCapacity)
	}
	return out, err
}

func (m *meter) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.BatchGetItem(ctx, in, o...)
	if err == nil {
		m.count(&out.ConsumedCapacity[0])
	}
	return out, err
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

// TestARankCostsTheSameOnAnyNumberOfStreamShards ranks 40 of many players, whose scores 4, 9 and 160 stream
// shards folded. By a stored sum, a rank costs two calls and the same read units for 9 and 160. It is within its
// error.
func TestARankCostsTheSameOnAnyNumberOfStreamShards(t *testing.T) {
	const asked, seed = 40, 5
	players := lane.Runs(60_000, 1_000_000)
	random := rand.New(rand.NewPCG(seed, 0))
	points := make([]float64, players)
	for i := range points {
		points[i] = 1000 * random.ExpFloat64()
	}
	slices.Sort(points)
	descending := make([]boards.Score, players)
	for i := range descending {
		descending[i] = score(t, fmt.Sprintf("%.3f", points[players-1-i]))
	}
	r := newRig(t)
	rankings := boards.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), boards.Options{})
	client := &meter{Client: r.client}
	r.serve(client)
	most := map[int]float64{} // units by stream shards
	for _, streamShards := range []int{4, 9, 160} {
		of := parts.Period{Board: fmt.Sprint("g", streamShards), Label: "all"}
		store := r.foldScores(of, descending, streamShards)
		var first []boards.Place
		for i := range 121 {
			first = append(first, boards.Place{Player: fmt.Sprintf("first%03d", i), Score: descending[i], At: r.now})
		}
		r.putTop(of.Board, first, 120, r.now)
		var list []boards.PlayerScore
		for i := range asked {
			at := 5000 + i*(players-5000)/asked
			list = append(list, boards.PlayerScore{Player: fmt.Sprint("p", at), Score: descending[at]})
		}
		for _, err := range rankings.Submit(t.Context(), of.Board, list, r.now) {
			require.NoError(t, err)
		}
		before := r.rankEach(client, of, list, descending, false)
		_, err := store.Refresh(t.Context(), r.client, of.Key(), of.SumKey(), parts.FewFragments)
		require.NoError(t, err)
		sum, err := store.Read(t.Context(), of.SumKey())
		if err != nil || len(sum) != 1 {
			t.Fatalf("%d sums, %v", len(sum), err)
		}
		t.Logf("a sum of %d cells in %d bytes", sum[0].Value.Cells(), len(sum[0].Value.Bytes()))
		summed := streamShards > parts.FewFragments
		after := r.rankEach(client, of, list, descending, summed)
		if summed != (after.calls == 2) || summed == (before == after) {
			t.Errorf("%d stream shards: a rank costs %+v, and %+v after the sum was refreshed", streamShards, before, after)
		}
		most[streamShards] = after.units
	}
	if most[160] != most[9] || most[160] > most[4] {
		t.Errorf("read units of a rank by stream shards: %v", most)
	}
}

// cost is the maximum cost of a rank.
type cost struct {
	calls int
	units float64
}

// rankEach ranks players through the API. Ranks by the stored sum must be within their error. Ranks by fragments can't be
// checked: they count in the index, which has only these players.
func (r *rig) rankEach(client *meter, of parts.Period, list []boards.PlayerScore, descending []boards.Score, summed bool) (most cost) {
	r.t.Helper()
	var errs, margins []int
	for _, p := range list {
		client.calls, client.units = 0, 0
		var page rankPage
		mustGet(r.t, r.handler, fmt.Sprintf("/v1/leaderboards/rank?board=%s&player=%s&around=0", of.Board, p.Player), &page)
		most = cost{max(most.calls, client.calls), max(most.units, client.units)}
		compare := func(s, by boards.Score) int { return by.Cmp(s) }
		above, _ := slices.BinarySearchFunc(descending, p.Score, compare)
		to, _ := slices.BinarySearchFunc(descending, p.Score, func(s, by boards.Score) int {
			if s.Cmp(by) >= 0 {
				return -1
			}
			return 1
		})
		if !summed {
			continue
		}
		if page.Rank-page.RankError > above+1 || page.Rank+page.RankError < to || page.RankError == 0 {
			r.t.Errorf("%s, %s: rank %d within %d; want one of %d to %d", of.Board, p.Player, page.Rank, page.RankError, above+1, to)
		}
		errs, margins = append(errs, max(page.Rank-above-1, to-page.Rank)), append(margins, page.RankError)
	}
	r.t.Logf("%s, by a sum: %t: at most %d calls and %.1f read units", of.Board, summed, most.calls, most.units)
	if summed {
		slices.Sort(errs)
		slices.Sort(margins)
		r.t.Logf("off by %d at p50 and %d at most; rank_error %d and %d", errs[len(errs)/2], errs[len(errs)-1], margins[len(margins)/2], margins[len(margins)-1])
	}
	return most
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
