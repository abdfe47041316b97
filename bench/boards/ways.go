package boards

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// top is how many of the first are asked for.
const top = 100

// way answers questions about the board.
type way interface {
	first(context.Context) (players []string, err error)
	rank(ctx context.Context, i int) (rank, stated int64, err error)
}

// handler is hotshard's query function.
type handler struct{ http.Handler }

func (h handler) get(ctx context.Context, path string, query url.Values, out any) error {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path+"?"+query.Encode(), nil))
	if w.Code != http.StatusOK {
		return fmt.Errorf("%s: %d %s", path, w.Code, w.Body)
	}
	return json.Unmarshal(w.Body.Bytes(), out)
}

func (h handler) first(ctx context.Context) (players []string, err error) {
	var out struct{ Entries []struct{ Player string } }
	err = h.get(ctx, "/v1/leaderboards", url.Values{"board": {name}, "limit": {fmt.Sprint(top)}}, &out)
	for _, e := range out.Entries {
		players = append(players, e.Player)
	}
	return players, err
}

func (h handler) rank(ctx context.Context, i int) (rank, stated int64, err error) {
	var out struct {
		Rank      int64
		RankError int64 `json:"rank_error"`
	}
	err = h.get(ctx, "/v1/leaderboards/rank", url.Values{"board": {name}, "player": {player(i)}, "around": {"0"}}, &out)
	return out.Rank, out.RankError, err
}

// scatter is what one would write without hotshard: a query for each write shard.
type scatter struct {
	*game
	db *dynamodb.Client
}

func (s scatter) query(n int, condition string, values rig.Item) *dynamodb.QueryInput {
	values[":shard"] = rig.S(schema.BoardShardKey(name, period, n))
	return &dynamodb.QueryInput{
		TableName: &s.Names.Items, IndexName: aws.String(schema.ByRank),
		KeyConditionExpression: aws.String("board_shard = :shard" + condition), ExpressionAttributeValues: values,
	}
}

func (s scatter) first(ctx context.Context) (players []string, err error) {
	lists := make([][]string, shards)
	err = rig.Together(ctx, shards, func(ctx context.Context, n int) error {
		in := s.query(n, "", rig.Item{})
		in.Limit = aws.Int32(top)
		out, err := s.db.Query(ctx, in)
		if err != nil {
			return err
		}
		for _, it := range out.Items {
			lists[n] = append(lists[n], rig.Text(it[schema.RankKey]))
		}
		return nil
	})
	all := slices.Sorted(slices.Values(slices.Concat(lists...)))
	for _, key := range all[:min(top, len(all))] {
		place, err := boards.ParseRankKey(key)
		if err != nil {
			return nil, err
		}
		players = append(players, place.Player)
	}
	return players, err
}

// rank counts the entries before the player's.
func (s scatter) rank(ctx context.Context, i int) (rank, stated int64, err error) {
	var before atomic.Int64
	err = rig.Together(ctx, shards, func(ctx context.Context, n int) error {
		in := s.query(n, " AND rank_key < :own", rig.Item{":own": rig.S(s.place(i).RankKey())})
		in.Select = types.SelectCount
		for page, err := range dynamo.Pages(ctx, s.db, in) {
			if err != nil {
				return err
			}
			before.Add(int64(page.Count))
		}
		return nil
	})
	return before.Load() + 1, 0, err
}
