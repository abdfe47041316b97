package query

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestRankByHistogram checks from which histogram a rank is: the cached one, or one that is read if the cached one is old
// or lacks too many scores. Each stored fragment has 5,000 better scores.
func TestRankByHistogram(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	place, better := boards.Place{Player: "p", Score: score(t, "5"), At: now}, boards.Place{Score: score(t, "9"), At: now}
	better9 := func(n int64) (h parts.Histogram) {
		h.AddMerit(better.Merit(), n)
		return h
	}
	fragment := better9(5000).Attributes()
	fragment[schema.SK], fragment[schema.RollupSequence], fragment[schema.AsOf] = dynamo.String(schema.HistogramPrefix+"s"), dynamo.String("5"), dynamo.Number(now.Add(-time.Minute).UnixMilli())
	each := int64(5000 * len(schema.HistogramPartitions("b", "all")))
	for i, c := range []struct {
		cached         int64         // better scores; 0 if none is cached
		age            time.Duration // of the cached histogram
		found, stored  int           // in the index, and fragments in each partition
		rank           int64
		folded         time.Duration // age of the last fold
		caches, unread bool          // caches what it reads
	}{
		{1, 0, 3, 0, 4, 0, false, false}, {1, 0, maxRead, 0, maxRead + 1, 0, false, false}, {5000, 9 * time.Second, 3, 0, 5001, time.Hour, false, false},
		{0, 0, 3, 1, each + 4, time.Minute, false, false}, {0, 0, 3, 2, 2*each + 4, time.Minute, false, false}, {0, 0, 3, 3, 3*each + 1, time.Minute, true, false},
		{5000, 10 * time.Second, 3, 1, each + 4, time.Minute, false, false}, {5000, -10 * time.Second, 3, 1, each + 4, time.Minute, false, false},
		{1, 0, maxRead + 1, 3, 3*each + 1, time.Minute, true, false}, {0, 0, 3, -1, 0, 0, false, true}, {1, 0, maxRead + 1, 0, 0, 0, false, true},
	} {
		rollups := &unreadable{items: slices.Repeat([]dynamo.Item{fragment}, max(0, c.stored))}
		if c.stored < 0 {
			rollups.items = []dynamo.Item{{}}
		}
		client := &queries{Client: rollups, items: before(c.found, better)}
		r := &boardReader{client: client, entries: boards.NewReader(client, "items", shardmap.New(&unreadable{}, "map", shardmap.Options{})), histograms: newHistogramCache()}
		cached := histogram{better9(c.cached), fewFragments + 1, now.Add(-time.Hour), now.Add(-c.age)}
		if c.cached > 0 {
			r.histograms.Set("L#b#all", cached)
		}
		st, err := r.rankWithCachedHistogram(t.Context(), boardState{name: "b", period: "all", now: now}, place)
		if (err != nil) != c.unread || err == nil && (st.rank != c.rank || !st.at.Equal(now.Add(-c.folded))) {
			t.Errorf("row %d: %+v, %v; want %d as of %v ago", i, st, err, c.rank, c.folded)
		}
		if h, ok := r.histograms.Get("L#b#all"); ok != (c.caches || c.cached > 0) || ok && h.read.Equal(now) != (c.caches || c.age == 0) {
			t.Errorf("row %d: cached %t, %+v", i, ok, h)
		}
	}
}

// TestPlacesInTops checks that a top has a player only at the place that it has there.
func TestPlacesInTops(t *testing.T) {
	at, top := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), parts.NewTop()
	top.FoldEntry(parts.EntryState{Place: boards.Place{Player: "p", Score: score(t, "5"), At: at}, Rev: 1, Present: true})
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

// TestAnswersOfBoards checks the best places and the ranks of a player's neighbours, by a stored top of three.
func TestAnswersOfBoards(t *testing.T) {
	at, top := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), parts.NewTop()
	var places []boards.Place
	for i, player := range []string{"p", "q", "r"} {
		places = append(places, boards.Place{Player: player, Score: score(t, fmt.Sprint(9-i)), At: at})
		top.FoldEntry(parts.EntryState{Place: places[i], Rev: 1, Present: true})
	}
	stored := dynamo.Key(schema.BoardRollupKey("b", "all"), schema.TopSK)
	stored[schema.Version], stored[schema.AsOf] = dynamo.Decimal(schema.BoardVersion), dynamo.Number(at.UnixMilli())
	stored[schema.TopPlaces], stored[schema.TopWhole] = &types.AttributeValueMemberB{Value: top.Bytes()}, &types.AttributeValueMemberBOOL{Value: true}
	out, err := (&boardReader{client: oneItem{item: stored}}).getBoard(t.Context(), &boardInput{Board: "b", Period: boards.AllTime, Limit: 2}, at)
	if err != nil || len(out.Body.Entries) != 2 || out.Body.Entries[1].Player != "q" || out.Body.Entries[1].Rank != 2 {
		t.Errorf("the best two: %+v, %v", out, err)
	}
	entry := dynamo.Key(schema.EntryKey("b", "all", "q"))
	entry[schema.EntryScore], entry[schema.EntryAt], entry[schema.EntryRev], entry[schema.EntryRowRev] = dynamo.Decimal("8"), dynamo.Number(at.UnixMilli()), dynamo.Number(1), dynamo.Number(1)
	entry[schema.RankKey], entry[schema.BoardShard] = dynamo.String(places[1].RankKey()), dynamo.String(schema.BoardShardKey("b", "all", 0))
	client := &queries{Client: &unreadable{}}
	entries := boards.NewReader(storedEntry{&unreadable{}, entry}, "items", shardmap.New(&unreadable{}, "map", shardmap.Options{}))
	rank, err := (&boardReader{client: oneItem{client, stored, nil}, entries: entries}).getRank(t.Context(), &rankInput{Board: "b", Player: "q", Period: boards.AllTime, Around: 2}, at)
	if err != nil || rank.Body.Rank != 2 || len(rank.Body.Neighbors) != 2 || rank.Body.Neighbors[0].Rank != 1 || rank.Body.Neighbors[1].Rank != 3 {
		t.Errorf("the rank of q: %+v, %v", rank, err)
	}
}
