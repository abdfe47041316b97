package query

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

func score(t *testing.T, text string) boards.Score {
	t.Helper()
	s, err := boards.ParseScore(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// playEqual sends the same score of n players, and returns their places in rank. The first
// is written as callers do; the others' entries are like that one.
func (r *rig) playEqual(name string, n int) (places []boards.Place) {
	r.t.Helper()
	rankings := boards.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), boards.Options{})
	at := r.now
	var list []boards.PlayerScore
	for i := range n {
		p := boards.PlayerScore{Player: fmt.Sprintf("p%05d", i), Score: score(r.t, "5")}
		list = append(list, p)
		places = append(places, boards.Place{Player: p.Player, Score: p.Score, At: at})
	}
	if err := rankings.Submit(r.t.Context(), name, list[:1], at)[0]; err != nil {
		r.t.Fatal(err)
	}
	pk, sk := schema.EntryKey(name, "all", list[0].Player)
	out, err := r.client.GetItem(r.t.Context(), &dynamodb.GetItemInput{TableName: &r.names.Items, Key: dynamo.Key(pk, sk)})
	if err != nil {
		r.t.Fatal(err)
	}
	r.copyEntries(name, out.Item, places[1:])
	return places
}

// copyEntries puts the entries of others with another's score.
func (r *rig) copyEntries(name string, entry map[string]types.AttributeValue, places []boards.Place) {
	r.t.Helper()
	for chunk := range slices.Chunk(places, 25) {
		var puts []types.WriteRequest
		for _, p := range chunk {
			other := maps.Clone(entry)
			maps.Copy(other, dynamo.Key(schema.EntryKey(name, "all", p.Player)))
			other[schema.RankKey] = &types.AttributeValueMemberS{Value: p.RankKey()}
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: other}})
		}
		out, err := r.client.BatchWriteItem(r.t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{r.names.Items: puts}})
		if err != nil || len(out.UnprocessedItems) > 0 {
			r.t.Fatalf("%d entries were not written, %v", len(out.UnprocessedItems[r.names.Items]), err)
		}
	}
}

// boardPart stores a stream shard's part of a board's histogram.
func (r *rig) boardPart(name string, cells board.Histogram, at time.Time) {
	r.t.Helper()
	part := dynamo.Key(schema.HistogramKey(name, "all", "s"))
	part[schema.Version] = &types.AttributeValueMemberN{Value: schema.BoardVersion}
	part[schema.HistogramCells] = &types.AttributeValueMemberB{Value: cells.Bytes()}
	part[schema.AsOf] = &types.AttributeValueMemberN{Value: fmt.Sprint(at.UnixMilli())}
	if _, err := r.client.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: part}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) rank(player string, around int) (page rankPage) {
	r.t.Helper()
	if status := r.get(fmt.Sprintf("/v1/leaderboards/rank?board=g&player=%s&around=%d", player, around), &page); status != http.StatusOK {
		r.t.Fatalf("status %d", status)
	}
	return page
}

// queries is a client that counts queries of the index, and can answer them.
type queries struct {
	*dynamodb.Client
	n     atomic.Int64
	items []map[string]types.AttributeValue // nil asks the engine
}

// page is as many items as are counted at most.
func (q *queries) page(in *dynamodb.QueryInput) *dynamodb.QueryOutput {
	if in.ExclusiveStartKey != nil {
		return &dynamodb.QueryOutput{Items: q.items[maxFound:]}
	}
	out := &dynamodb.QueryOutput{Items: q.items[:min(maxFound, len(q.items))]}
	if len(q.items) > maxFound {
		out.LastEvaluatedKey = out.Items[maxFound-1]
	}
	return out
}

func (q *queries) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if in.IndexName == nil {
		return q.Client.Query(ctx, in, o...)
	}
	if q.n.Add(1); q.items != nil {
		return q.page(in), nil
	}
	return q.Client.Query(ctx, in, o...)
}

// TestRankInTheTopLackingNeighbours: the top has the player, and not all the neighbours
// that are asked for. Its rank is exact all the same.
func TestRankInTheTopLackingNeighbours(t *testing.T) {
	r := newRig(t)
	places := r.playEqual("g", 1100) // in one cell, which is not counted
	r.keep("g", places, 120)
	for around, neighbours := range map[int]int{2: 4, 20: 40, 21: 42, 100: 199} {
		page := r.rank(places[99].Player, around)
		if page.Rank != 100 || page.RankError != 0 || len(page.Neighbors) != neighbours {
			t.Errorf("around %d: rank %d with an error of %d, %d neighbours; want 100 exactly, and %d", around, page.Rank, page.RankError, len(page.Neighbors), neighbours)
		}
		for i, n := range page.Neighbors {
			if want := n.Rank - 1; n.Player != places[want].Player {
				t.Errorf("around %d: neighbour %d: %+v, want %s", around, i, n, places[want].Player)
			}
		}
	}
}

// TestRankBeforeItIsFolded: many more are before the player than the histogram says.
func TestRankBeforeItIsFolded(t *testing.T) {
	r := newRig(t)
	places := r.playEqual("g", 2600)
	if page := r.rank(places[2599].Player, 2); page.Rank != 2600 || page.RankError != 0 {
		t.Errorf("nothing is folded: %+v, want 2600 exactly", page)
	}
}

// before is a page of the index with n players before the one who asks.
func before(n int, first boards.Place) (list []map[string]types.AttributeValue) {
	for i := range n {
		first.Player = fmt.Sprintf("before%d", i)
		list = append(list, map[string]types.AttributeValue{
			schema.RankKey:     &types.AttributeValueMemberS{Value: first.RankKey()},
			schema.EntryRowRev: &types.AttributeValueMemberN{Value: fmt.Sprint(i + 1)},
		})
	}
	return list
}

// TestRankBeyondWhatIsCounted: so many are before the player in the index that they are
// not counted to the end. No rank is made up of that.
func TestRankBeyondWhatIsCounted(t *testing.T) {
	r := newRig(t)
	player := r.playEqual("g", 1)[0]
	better := player
	better.Score = score(t, "9")
	client := &queries{Client: r.client, items: before(maxFound, better)}
	r.serve(client)
	if page := r.rank(player.Player, 0); page.Rank != maxFound+1 || page.RankError != 0 {
		t.Errorf("with as many before as are counted: %+v", page)
	}
	client.items = before(maxFound+1, better)
	var problem struct{ Detail string }
	if status := r.get("/v1/leaderboards/rank?board=g&player=p00000&around=0", &problem); status != http.StatusServiceUnavailable || !strings.Contains(problem.Detail, "not folded yet") {
		t.Errorf("with more before: %d %+v", status, problem)
	}

	// In the player's own cell: what is folded says how many there were then.
	var cells board.Histogram
	cells.AddScore(score(t, "1000000"), 3000)
	cells.AddScore(player.Score, 5)
	folded := r.now.Add(-time.Minute)
	r.boardPart("g", cells, folded)
	if page := r.rank(player.Player, 0); page.Rank != 3003 || page.RankError != 3 || page.AsOf != folded.UTC().Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("with more before in the own cell: %+v, want 3003 within 3 as of %s", page, folded)
	}
}

// TestRankWithAnOldScoreOfOnesOwn: the player fell, and its stream shard is behind the
// others. The histogram has it where it was. On a board of best scores that can't be.
func TestRankWithAnOldScoreOfOnesOwn(t *testing.T) {
	for mode, off := range map[boards.Mode]int{boards.Latest: 1, boards.Total: 1, boards.Best: 0} {
		t.Run(string(mode), func(t *testing.T) { rankWithAnOldScore(t, mode, off) })
	}
}

func rankWithAnOldScore(t *testing.T, mode boards.Mode, off int) {
	r := newRig(t)
	rankings := boards.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), boards.Options{})
	if err := rankings.Configure(t.Context(), "g", boards.Settings{Mode: mode}); err != nil {
		t.Fatal(err)
	}
	places := r.play("g", 20)
	var cells board.Histogram
	cells.AddScore(score(t, "1000000"), int64(3000+off)) // with the player's
	for i, p := range places {
		if i != 7 {
			cells.AddScore(p.Score, 1)
		}
	}
	r.boardPart("g", cells, r.now.Add(time.Second))
	for _, around := range []int{0, 2} {
		if page := r.rank("p7", around); page.Rank-page.RankError > 3008 || page.Rank+page.RankError < 3008 || page.RankError != off {
			t.Errorf("around %d: %+v, want 3008 within %d", around, page, off)
		}
	}
}

// TestExpiredHistogramsDoNotCount checks that a part of a histogram counts for nothing once it has expired,
// though it is still there.
func TestExpiredHistogramsDoNotCount(t *testing.T) {
	r := newRig(t)
	player := r.playEqual("g", 3)[2]
	var cells board.Histogram
	cells.AddScore(score(t, "1000000"), 3000)
	cells.AddScore(player.Score, 3)
	r.boardPart("g", cells, r.now)
	want := r.rank(player.Player, 0)
	if want.Rank < 3000 {
		t.Fatalf("rank %d behind 3,000 others", want.Rank)
	}
	part := dynamo.Key(schema.HistogramKey("g", "all", "gone"))
	part[schema.Version] = &types.AttributeValueMemberN{Value: schema.BoardVersion}
	part[schema.HistogramCells] = &types.AttributeValueMemberB{Value: cells.Bytes()}
	part[schema.ExpiresAt] = &types.AttributeValueMemberN{Value: fmt.Sprint(r.now.Unix())}
	if _, err := r.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: part}); err != nil {
		t.Fatal(err)
	}
	if got := r.rank(player.Player, 0); got.Rank != want.Rank || got.AsOf != want.AsOf {
		t.Errorf("rank %d as of %s, want %d as of %s", got.Rank, got.AsOf, want.Rank, want.AsOf)
	}
}

// TestRankWithoutNeighboursCostsNoQueries of the index, of which there is one, or two, for
// each write shard.
func TestRankWithoutNeighboursCostsNoQueries(t *testing.T) {
	r := newRig(t)
	client := &queries{Client: r.client}
	r.serve(client)
	r.pin("L#g", 8, r.now.Add(-time.Hour))
	player := r.playEqual("g", 3)[2]
	var cells board.Histogram
	cells.AddScore(player.Score, 1_000_000) // the cell is not counted
	r.boardPart("g", cells, r.now)
	for around, want := range map[int]int64{0: 0, 5: 16} {
		before := client.n.Load()
		r.rank(player.Player, around)
		if got := client.n.Load() - before; got != want {
			t.Errorf("around %d: %d queries of the index, want %d", around, got, want)
		}
	}
}

// TestRanksWhileRowsAreOutdated checks that a count of the index may be off by the outdated rows, and that no cell
// is counted there.
func TestRanksWhileRowsAreOutdated(t *testing.T) {
	for _, c := range []struct {
		late, before int64
		rank, off    int
	}{{0, 0, 8, 0}, {2, 0, 8, 2}, {0, 3000, 3008, 0}, {2, 3000, 3008, 1}} {
		r := newRig(t)
		var cells board.Histogram
		for _, p := range r.play("g", 20) {
			cells.AddScore(p.Score, 1)
		}
		cells.AddScore(score(t, "1000000"), c.before)
		cells.AddLate(c.late)
		r.boardPart("g", cells, r.now.Add(time.Second))
		for _, around := range []int{0, 2, 50} {
			if page := r.rank("p7", around); around < 50 && (page.Rank != c.rank || page.RankError != c.off) || around == 50 && (page.Rank != 8 || page.RankError != int(c.late)) {
				t.Errorf("%+v, around %d: %d within %d", c, around, page.Rank, page.RankError)
			}
		}
	}
}
