package query

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type boardPage struct {
	Board   string
	Entries []struct {
		Rank         int
		Player, Time string
		Score        float64
	}
	AsOf string `json:"as_of"`
}

type rankPage struct {
	Player    string
	Score     float64
	Rank      int
	RankError int    `json:"rank_error"`
	AsOf      string `json:"as_of"`
	Neighbors []struct {
		Rank   int
		Player string
	}
}

// submitScores submits the scores of players p0 to p<n-1>, the best first, and returns the top. They are from 1000 down,
// or, on a board where less is better, from -1000 up.
func (r *rig) submitScores(name string, n int) []boards.Place {
	r.t.Helper()
	rankings := boards.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), boards.Options{})
	settings, err := rankings.Settings(context.Background(), name, r.now)
	require.NoError(r.t, err)
	sign := 1
	if settings.Mode == boards.Lowest {
		sign = -1
	}
	var list []boards.PlayerScore
	for i := range n {
		list = append(list, boards.PlayerScore{Player: fmt.Sprint("p", i), Score: score(r.t, fmt.Sprint(sign*(1000-i)))})
	}
	for _, err := range rankings.Submit(context.Background(), name, list, r.now) {
		require.NoError(r.t, err)
	}
	places, err := rankings.Top(context.Background(), name, "all", n, r.now)
	if err != nil || len(places) != n {
		r.t.Fatalf("%d places, %v", len(places), err)
	}
	return places
}

// putSummaries stores a board's top, cut to a size, and a fragment of its histogram with all places.
func (r *rig) putSummaries(name string, places []boards.Place, size int) {
	r.t.Helper()
	var cells parts.Histogram
	for _, p := range places {
		cells.AddMerit(p.Merit(), 1)
	}
	r.putTop(name, places, size, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	r.putHistogram(name, "s", cells, nil)
}

// putTop stores a board's top, cut to a size.
func (r *rig) putTop(name string, places []boards.Place, size int, asOf time.Time) {
	r.t.Helper()
	top := parts.NewTop()
	for i, p := range places {
		top.FoldEntry(parts.EntryState{Place: p, Rev: int64(i + 1), Present: true})
	}
	if size < len(places) {
		top.Trim(size)
	}
	item := dynamo.Key(schema.BoardRollupKey(name, "all"), schema.TopSK)
	item[schema.Version], item[schema.AsOf] = dynamo.Decimal(schema.BoardVersion), dynamo.Number(asOf.UnixMilli())
	item[schema.TopPlaces], item[schema.TopWhole] = &types.AttributeValueMemberB{Value: top.Bytes()}, &types.AttributeValueMemberBOOL{Value: top.Whole()}
	r.putItem(r.names.Rollups, item)
}

// putHistogram stores a stream shard's fragment of a board's histogram.
func (r *rig) putHistogram(name, streamShard string, cells parts.Histogram, more dynamo.Item) {
	r.t.Helper()
	item := dynamo.Key(schema.HistogramKey(name, "all", streamShard))
	item[schema.Version], item[schema.HistogramCells] = dynamo.Decimal(schema.BoardVersion), &types.AttributeValueMemberB{Value: cells.Bytes()}
	maps.Copy(item, more)
	r.putItem(r.names.Rollups, item)
}

// bothOrders runs a test on a board g of either order, with the sign of its scores.
func bothOrders(t *testing.T, test func(t *testing.T, r *rig, sign float64)) {
	for mode, sign := range map[boards.Mode]float64{boards.Best: 1, boards.Lowest: -1} {
		t.Run(string(mode), func(t *testing.T) {
			r := newRig(t)
			rankings := boards.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), boards.Options{})
			for _, name := range []string{"g", "g#1"} {
				require.NoError(t, rankings.Configure(t.Context(), name, boards.Settings{Mode: mode}))
			}
			test(t, r, sign)
		})
	}
}

// TestLeaderboard checks that the first places come from the stored top if it has enough, else from the index.
func TestLeaderboard(t *testing.T) { bothOrders(t, leaderboard) }

func leaderboard(t *testing.T, r *rig, sign float64) {
	places := r.submitScores("g#1", 30)
	path := "/v1/leaderboards?board=" + url.QueryEscape("g#1")
	check := func(query string, n int) boardPage {
		t.Helper()
		var page boardPage
		if status := r.get(path+query, &page); status != http.StatusOK || page.Board != "g#1" || len(page.Entries) != n {
			t.Fatalf("%s: status %d, %+v; want %d entries", query, status, page, n)
		}
		for i, e := range page.Entries {
			if e.Rank != i+1 || e.Player != fmt.Sprint("p", i) || e.Score != sign*float64(1000-i) {
				t.Errorf("%s: entry %d is %+v", query, i, e)
			}
		}
		return page
	}
	check("", 30) // from the index, since nothing is folded yet
	r.putSummaries("g#1", places, 10)
	if page := check("&limit=10", 10); page.AsOf != "2026-01-01T00:00:00.000Z" {
		t.Errorf("as of %s, want the stored top's time", page.AsOf)
	}
	for _, limit := range []int{1, 9, 10, 11, 20, 30, 31} { // from the index, if the top has too few
		check(fmt.Sprint("&limit=", limit), min(limit, 30))
	}
	r.putTop("g#1", places, 30, r.now)
	for _, limit := range []int{29, 30, 31} {
		check(fmt.Sprint("&limit=", limit), min(limit, 30))
	}
	r.putTop("g#1", places[:10], 10, r.now)
	check("&limit=11", 10) // a whole top
	var p problem
	if status := r.get(path+"&period=day", &p); status != 422 || p.Errors[0].Location != "query.period" || !strings.Contains(p.Errors[0].Message, "keeps all") {
		t.Errorf("a period that the board does not keep: %d %+v", status, p)
	}
	for query, status := range map[string]int{"?board=none": 404, "": 422, "?board=g&period=month": 422, "?board=g&period=year": 422, "?board=g%231&page=2": 422, "?board=g&limit=0": 422, "?board=g&limit=1001": 422} {
		if got := r.get("/v1/leaderboards"+query, nil); got != status {
			t.Errorf("%s: status %d, want %d", query, got, status)
		}
	}
}

// TestRank checks the rank and the neighbours of each player of a small board, of whom 10 are in the stored top.
func TestRank(t *testing.T) { bothOrders(t, rankOfEach) }

func rankOfEach(t *testing.T, r *rig, sign float64) {
	places := r.submitScores("g", 40)
	r.putSummaries("g", places, 10)
	for i := range places {
		page := r.rank(fmt.Sprint("p", i), 3)
		if page.Rank != i+1 || page.RankError != 0 || page.Score != sign*float64(1000-i) {
			t.Errorf("p%d: %+v", i, page)
		}
		var want []int
		for rank := max(1, i-2); rank <= min(40, i+4); rank++ {
			if rank != i+1 {
				want = append(want, rank)
			}
		}
		var got []int
		for _, n := range page.Neighbors {
			got = append(got, n.Rank)
			if n.Player != fmt.Sprint("p", n.Rank-1) {
				t.Errorf("p%d has neighbour %+v", i, n)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("p%d has neighbours %v, want %v", i, got, want)
		}
	}
	for query, status := range map[string]int{
		"?board=g&player=nobody": 404, "?board=none&player=p1": 404, "?board=g": 422, "?board=g&player=p1&around=101": 422,
		"?board=g&player=p1&period=day": 422,
	} {
		if got := r.get("/v1/leaderboards/rank"+query, nil); got != status {
			t.Errorf("%s: status %d, want %d", query, got, status)
		}
	}
	for query, want := range map[string]string{
		"?board=g&player=nobody": `player "nobody" has no score on board "g" in the period all`, "?board=none&player=p1": `there is no board "none"`,
	} {
		var p problem
		if r.get("/v1/leaderboards/rank"+query, &p); p.Detail != want {
			t.Errorf("%s: %s, want %s", query, p.Detail, want)
		}
	}
}
