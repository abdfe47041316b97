package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
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
func (r *rig) foldScores(of parts.Period, scores []boards.Score, streamShards int) *parts.Store[parts.Histogram] {
	r.t.Helper()
	store := parts.NewHistograms(r.client, r.names.Rollups, func() time.Time { return r.now })
	folder := store.Folder(r.client)
	for n := range streamShards {
		one := parts.Record[parts.Histogram]{Sequence: fmt.Sprintf("%0*d", schema.RollupSequenceDigits, 1), Apply: func(h *parts.Histogram) {
			for i := n; i < len(scores); i += streamShards {
				h.AddMerit(scores[i], 1)
				h.Limit(parts.MaxCells)
			}
		}}
		_, err := folder.Fold(r.t.Context(), of.Key(), fmt.Sprintf("shardId-%d", n), time.Time{}, []parts.Record[parts.Histogram]{one})
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

// TestRankByHistogram checks from which histogram a rank is: the stored sum's, or that of the fragments if the sum lacks too
// many scores. The fragments have 5,000 better scores each.
func TestRankByHistogram(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	place, better := boards.Place{Player: "p", Score: score(t, "5"), At: now}, boards.Place{Score: score(t, "9"), At: now}
	sum := func(n int64) *parts.Part[parts.Histogram] {
		p := &parts.Part[parts.Histogram]{AsOf: now.Add(-time.Hour)}
		p.Value.AddMerit(better.Merit(), n)
		return p
	}
	fragment := sum(5000).Value.Attributes()
	fragment[schema.SK], fragment[schema.RollupSequence], fragment[schema.AsOf] = dynamo.String(schema.HistogramPrefix+"s"), dynamo.String("5"), dynamo.Number(now.Add(-time.Minute).UnixMilli())
	whole := int64(5000 * len(schema.HistogramPartitions("b", "all")))
	for _, c := range []struct {
		sum      *parts.Part[parts.Histogram]
		found    int // in the index
		fragment dynamo.Item
		rank     int64
		age      time.Duration
		fails    string
	}{
		{sum(1), 3, nil, 4, 0, ""}, {sum(1), maxFound, nil, maxFound + 1, 0, ""}, {sum(5000), 3, nil, 5001, time.Hour, ""},
		{nil, 3, fragment, whole + 4, time.Minute, ""}, {sum(1), maxFound + 1, fragment, whole + 1, time.Minute, ""},
		{nil, 3, dynamo.Item{}, 0, 0, "version"}, {sum(1), maxFound + 1, nil, 0, 0, "not folded"},
	} {
		rollups := &unreadable{items: []dynamo.Item{c.fragment}}
		client := &queries{Client: rollups, items: before(c.found, better)}
		r := &boardReader{client: client, entries: boards.NewReader(client, "items", shardmap.New(&unreadable{}, "map", shardmap.Options{}))}
		if c.fragment == nil {
			rollups.items = nil
		}
		st, err := r.rankByHistogram(t.Context(), boardState{board: "b", period: "all", sum: c.sum, now: now}, place)
		if (err == nil) != (c.fails == "") || err == nil && (st.rank != c.rank || !st.at.Equal(now.Add(-c.age))) || !strings.Contains(fmt.Sprint(err), c.fails) {
			t.Errorf("%d in the index, %+v: %+v, %v; want %d as of %v ago, %q", c.found, c.sum, st, err, c.rank, c.age, c.fails)
		}
	}
}

// TestPlacesInTops checks that a top has a player only at the place that it has there.
func TestPlacesInTops(t *testing.T) {
	at, top := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), parts.NewTop()
	top.Take(parts.EntryState{Place: boards.Place{Player: "p", Score: score(t, "5"), At: at}, Rev: 1, Present: true})
	for _, c := range []struct {
		player, score string
		want          bool
	}{{"p", "5", true}, {"p", "6", false}, {"p", "4", false}, {"q", "5", false}} {
		if got := hasPlace(top, boards.Place{Player: c.player, Score: score(t, c.score), At: at}); got != c.want {
			t.Errorf("%+v: in the top %t", c, got)
		}
	}
}

// storedEntry is a client with one entry of a board.
type storedEntry struct {
	*unreadable
	entry dynamo.Item
}

func (s storedEntry) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]dynamo.Item{}}
	for table := range in.RequestItems {
		out.Responses[table] = []dynamo.Item{s.entry}
	}
	return out, nil
}

// TestAnswersOfBoards checks that the last page has no cursor, and the ranks of a player's neighbours, by a stored top of three.
func TestAnswersOfBoards(t *testing.T) {
	at, top := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), parts.NewTop()
	var places []boards.Place
	for i, player := range []string{"p", "q", "r"} {
		places = append(places, boards.Place{Player: player, Score: score(t, fmt.Sprint(9-i)), At: at})
		top.Take(parts.EntryState{Place: places[i], Rev: 1, Present: true})
	}
	stored := dynamo.Key(schema.BoardRollupKey("b", "all"), schema.TopSK)
	stored[schema.Version], stored[schema.AsOf] = dynamo.Decimal(schema.BoardVersion), dynamo.Number(at.UnixMilli())
	stored[schema.TopPlaces], stored[schema.TopWhole] = &types.AttributeValueMemberB{Value: top.Bytes()}, &types.AttributeValueMemberBOOL{Value: true}
	for limit, more := range map[int]bool{2: true, 3: false} {
		out, err := (&boardReader{client: oneItem{item: stored}}).getBoard(t.Context(), &boardInput{Board: "b", Period: boards.AllTime, Limit: limit}, at)
		if err != nil || len(out.Body.Entries) != limit || (out.Body.Cursor != "") != more {
			t.Errorf("a page of %d: %+v, %v", limit, out, err)
		}
	}
	entry := dynamo.Key(schema.EntryKey("b", "all", "q"))
	entry[schema.EntryScore], entry[schema.EntryAt], entry[schema.EntryRev], entry[schema.EntryRowRev] = dynamo.Decimal("8"), dynamo.Number(at.UnixMilli()), dynamo.Number(1), dynamo.Number(1)
	entry[schema.RankKey], entry[schema.BoardShard] = dynamo.String(places[1].RankKey()), dynamo.String(schema.BoardShardKey("b", "all", 0))
	client := &unreadable{items: []dynamo.Item{stored}}
	entries := boards.NewReader(storedEntry{client, entry}, "items", shardmap.New(&unreadable{}, "map", shardmap.Options{}))
	out, err := (&boardReader{client: client, entries: entries}).getRank(t.Context(), &rankInput{Board: "b", Player: "q", Period: boards.AllTime, Around: 2}, at)
	if err != nil || out.Body.Rank != 2 || len(out.Body.Neighbors) != 2 || out.Body.Neighbors[0].Rank != 1 || out.Body.Neighbors[1].Rank != 3 {
		t.Errorf("the rank of q: %+v, %v", out, err)
	}
}
