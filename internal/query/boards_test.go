package query

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
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

// play sends scores of players p0 to p<n-1>, the first the highest.
func (r *rig) play(name string, n int) []boards.Place {
	r.t.Helper()
	rankings := boards.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), boards.Options{})
	var list []boards.PlayerScore
	for i := range n {
		score, err := boards.ParseScore(fmt.Sprint(1000 - i))
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, boards.PlayerScore{Player: fmt.Sprint("p", i), Score: score})
	}
	for _, err := range rankings.Submit(context.Background(), name, list, r.now) {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	places, err := rankings.Top(context.Background(), name, "all", n, r.now)
	if err != nil || len(places) != n {
		r.t.Fatalf("%d places, %v", len(places), err)
	}
	return places
}

// keep stores the summaries of a board: its first hold, and the scores of all.
func (r *rig) keep(name string, places []boards.Place, hold int) {
	r.t.Helper()
	top := board.NewTop()
	var cells board.Histogram
	for i, p := range places {
		top.Take(board.State{Place: p, Rev: int64(i + 1), Present: true})
		cells.AddScore(p.Score, 1)
	}
	if hold < len(places) {
		top.Trim(hold)
	}
	version := &types.AttributeValueMemberN{Value: schema.BoardVersion}
	pk := schema.BoardRollupKey(name, "all")
	item := dynamo.Key(pk, schema.TopSK)
	item[schema.Version], item[schema.AsOf] = version, &types.AttributeValueMemberN{Value: "1767225600000"}
	item[schema.TopPlaces], item[schema.TopWhole] = &types.AttributeValueMemberB{Value: top.Bytes()}, &types.AttributeValueMemberBOOL{Value: top.Whole()}
	part := dynamo.Key(schema.HistogramKey(name, "all", "s"))
	part[schema.Version], part[schema.HistogramCells] = version, &types.AttributeValueMemberB{Value: cells.Bytes()}
	for _, it := range []map[string]types.AttributeValue{item, part} {
		if _, err := r.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: it}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestLeaderboard(t *testing.T) {
	r := newRig(t)
	places := r.play("g#1", 30)
	path := "/v1/leaderboards?board=" + url.QueryEscape("g#1")
	check := func(query string, n int) boardPage {
		t.Helper()
		var page boardPage
		if status := r.get(path+query, &page); status != http.StatusOK || page.Board != "g#1" || len(page.Entries) != n {
			t.Fatalf("%s: status %d, %+v; want %d entries", query, status, page, n)
		}
		for i, e := range page.Entries {
			if e.Rank != i+1 || e.Player != fmt.Sprint("p", i) || e.Score != float64(1000-i) {
				t.Errorf("%s: entry %d is %+v", query, i, e)
			}
		}
		return page
	}
	check("", 30) // nothing is folded yet: from the index
	r.keep("g#1", places, 10)
	if page := check("&limit=10", 10); page.AsOf != "2026-01-01T00:00:00.000Z" {
		t.Errorf("not the kept top: as of %s", page.AsOf)
	}
	check("&limit=20", 20) // more than is kept
	var problem struct {
		Errors []struct{ Location, Message string }
	}
	if status := r.get(path+"&period=day", &problem); status != 422 || problem.Errors[0].Location != "query.period" || !strings.Contains(problem.Errors[0].Message, "keeps all") {
		t.Errorf("a period that is not kept: %d %+v", status, problem)
	}
	for query, status := range map[string]int{"?board=none": 404, "": 422, "?board=g&period=month": 422, "?board=g&limit=0": 422, "?board=g&limit=1001": 422} {
		if got := r.get("/v1/leaderboards"+query, nil); got != status {
			t.Errorf("%s: status %d, want %d", query, got, status)
		}
	}
}

func TestRank(t *testing.T) {
	r := newRig(t)
	places := r.play("g", 40)
	r.keep("g", places, 10)
	for i := range places {
		var page rankPage
		if status := r.get(fmt.Sprintf("/v1/leaderboards/rank?board=g&player=p%d&around=3", i), &page); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		if page.Rank != i+1 || page.RankError != 0 || page.Score != float64(1000-i) {
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
}

// TestRankOfFreshScores: the players' scores are not folded, or those of some. The
// index has them.
func TestRankOfFreshScores(t *testing.T) {
	r := newRig(t)
	places := r.play("g", 12)
	check := func(what string, players ...int) {
		t.Helper()
		for _, around := range []int{0, 1, 5} {
			for _, i := range players {
				var page rankPage
				if status := r.get(fmt.Sprintf("/v1/leaderboards/rank?board=g&player=p%d&around=%d", i, around), &page); status != http.StatusOK {
					t.Fatalf("status %d", status)
				}
				want := min(i, around) + min(11-i, around)
				if page.Rank != i+1 || page.RankError != 0 || page.AsOf == "" || len(page.Neighbors) != want {
					t.Errorf("%s: p%d of rank %d: %+v", what, i, i+1, page)
				}
			}
		}
	}
	check("nothing folded", 0, 1, 2, 5, 10, 11)
	r.keep("g", places[6:], 3)
	check("the first are not folded", 0, 5, 9, 11)
	r.keep("g", nil, 0)
	check("an empty top that says it is whole", 0, 5, 11)
}

// TestRankBehindManyOthers: the histogram says how many are in higher cells, and the
// player's own cell is counted.
func TestRankBehindManyOthers(t *testing.T) {
	r := newRig(t)
	places := r.play("g", 20)
	high := places[0]
	score, err := boards.ParseScore("1000000")
	if err != nil {
		t.Fatal(err)
	}
	high.Score = score
	folded := append(slices.Repeat([]boards.Place{high}, 3000), places...)
	r.keep("g", folded, 1)
	var page rankPage
	r.get("/v1/leaderboards/rank?board=g&player=p7&around=2", &page)
	if page.Rank < 3000+8-page.RankError || page.Rank > 3000+8+page.RankError || page.RankError > 1 || len(page.Neighbors) != 4 {
		t.Errorf("got %+v, want rank %d", page, 3008)
	}
}
