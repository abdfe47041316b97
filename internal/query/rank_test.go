package query

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

func score(t *testing.T, text string) boards.Score {
	t.Helper()
	s, err := boards.ParseScore(text)
	require.NoError(t, err)
	return s
}

// submitEqualScores submits one player's score, and puts copies of the entry for other players. It returns the n
// places in order.
func (r *rig) submitEqualScores(name string, n int) (places []boards.Place) {
	r.t.Helper()
	rankings := boards.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), boards.Options{})
	at := r.now
	var list []boards.PlayerScore
	for i := range n {
		p := boards.PlayerScore{Player: fmt.Sprintf("p%05d", i), Score: score(r.t, "5")}
		list = append(list, p)
		places = append(places, boards.Place{Player: p.Player, Score: p.Score, At: at})
	}
	require.NoError(r.t, rankings.Submit(r.t.Context(), name, list[:1], at)[0])
	pk, sk := schema.EntryKey(name, "all", list[0].Player)
	out, err := r.client.GetItem(r.t.Context(), &dynamodb.GetItemInput{TableName: &r.names.Items, Key: dynamo.Key(pk, sk)})
	require.NoError(r.t, err)
	r.copyEntries(name, out.Item, places[1:])
	return places
}

// copyEntries puts copies of an entry at the keys of these places.
func (r *rig) copyEntries(name string, entry dynamo.Item, places []boards.Place) {
	r.t.Helper()
	for chunk := range slices.Chunk(places, 25) {
		var puts []types.WriteRequest
		for _, p := range chunk {
			other := maps.Clone(entry)
			maps.Copy(other, dynamo.Key(schema.EntryKey(name, "all", p.Player)))
			other[schema.RankKey] = dynamo.String(p.RankKey())
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: other}})
		}
		out, err := r.client.BatchWriteItem(r.t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{r.names.Items: puts}})
		if err != nil || len(out.UnprocessedItems) > 0 {
			r.t.Fatalf("%d entries were not written, %v", len(out.UnprocessedItems[r.names.Items]), err)
		}
	}
}

// rank reads a player's rank in the board g.
func (r *rig) rank(player string, around int) (page rankPage) {
	r.t.Helper()
	mustGet(r.t, r.handler, fmt.Sprintf("/v1/leaderboards/rank?board=g&player=%s&around=%d", player, around), &page)
	return page
}

// foldedAt is the attribute of a fragment that was last folded at a time.
func foldedAt(at time.Time) dynamo.Item {
	return dynamo.Item{schema.AsOf: dynamo.Number(at.UnixMilli())}
}

// queries is a client that answers queries of the index with items.
type queries struct {
	Client
	items []dynamo.Item
}

// page returns the first maxRead items, or the rest.
func (q *queries) page(in *dynamodb.QueryInput) *dynamodb.QueryOutput {
	if in.ExclusiveStartKey != nil {
		return &dynamodb.QueryOutput{Items: q.items[maxRead:]}
	}
	out := &dynamodb.QueryOutput{Items: q.items[:min(maxRead, len(q.items))]}
	if len(q.items) > maxRead {
		out.LastEvaluatedKey = out.Items[maxRead-1]
	}
	return out
}

func (q *queries) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if in.IndexName == nil {
		return q.Client.Query(ctx, in, o...)
	}
	return q.page(in), nil
}

// TestRankInTopWithTooFewNeighbours checks that a player's rank is exact if the top has the player, although some
// neighbours come from the index.
func TestRankInTopWithTooFewNeighbours(t *testing.T) {
	r := newRig(t)
	places := r.submitEqualScores("g", 1100) // in one cell, which is too large to count
	r.putSummaries("g", places, 120)
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

// before returns n items of the index with the score of the given place.
func before(n int, first boards.Place) (list []dynamo.Item) {
	for i := range n {
		first.Player = fmt.Sprintf("before%d", i)
		list = append(list, dynamo.Item{
			schema.RankKey:     dynamo.String(first.RankKey()),
			schema.EntryRowRev: dynamo.Decimal(fmt.Sprint(i + 1)),
		})
	}
	return list
}

// TestRankWithOutdatedOwnScore checks the error of a rank if the histogram still has the player in a higher cell. A
// score can't get worse on a board of best or lowest scores, so its rank is exact.
func TestRankWithOutdatedOwnScore(t *testing.T) {
	for mode, off := range map[boards.Mode]int{boards.Latest: 1, boards.Total: 1, boards.Best: 0, boards.Lowest: 0} {
		t.Run(string(mode), func(t *testing.T) { rankWithOutdatedScore(t, mode, off) })
	}
}

func rankWithOutdatedScore(t *testing.T, mode boards.Mode, off int) {
	r := newRig(t)
	rankings := boards.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), boards.Options{})
	require.NoError(t, rankings.Configure(t.Context(), "g", boards.Settings{Mode: mode}))
	places := r.submitScores("g", 20)
	var cells parts.Histogram
	cells.AddMerit(score(t, "1000000"), int64(3000+off)) // with the player's old score
	for i, p := range places {
		if i != 7 {
			cells.AddMerit(p.Merit(), 1)
		}
	}
	r.putHistogram("g", "s", cells, foldedAt(r.now.Add(time.Second)))
	for _, around := range []int{0, 2, 3} {
		if page := r.rank("p7", around); len(page.Neighbors) != 2*around || page.Rank-page.RankError > 3008 || page.Rank+page.RankError < 3008 || page.RankError != off {
			t.Errorf("around %d: %+v, want 3008 within %d", around, page, off)
		}
	}
}

// TestRanksWhileRowsAreOutdated checks that the error of a count in the index includes its outdated rows, and that no
// cell is counted there.
func TestRanksWhileRowsAreOutdated(t *testing.T) {
	for _, c := range []struct {
		late, before int64
		rank, off    int
	}{{0, 0, 8, 0}, {2, 0, 8, 2}, {0, 3000, 3008, 0}, {2, 3000, 3008, 1}} {
		r := newRig(t)
		var cells parts.Histogram
		for _, p := range r.submitScores("g", 20) {
			cells.AddMerit(p.Merit(), 1)
		}
		cells.AddMerit(score(t, "1000000"), c.before)
		cells.AddLate(c.late)
		r.putHistogram("g", "s", cells, foldedAt(r.now.Add(time.Second)))
		for _, around := range []int{0, 2, 50} {
			if page := r.rank("p7", around); around < 50 && (page.Rank != c.rank || page.RankError != c.off) || around == 50 && (page.Rank != 8 || page.RankError != int(c.late)) {
				t.Errorf("%+v, around %d: rank %d within %d", c, around, page.Rank, page.RankError)
			}
		}
	}
}
